import { randomUUID } from 'node:crypto';
import type { KeyRecord } from './keyRecord.ts';

type KeyFields = Partial<Omit<KeyRecord, 'workspace'>> & { workspace?: Partial<KeyRecord['workspace']> };

/** A key of a workspace of its own, without limits that could get in a test's way. */
export function aKeyRecord({ workspace, ...fields }: KeyFields = {}): KeyRecord {
  return {
    keyId: `key_${randomUUID()}`,
    lastFour: 'wxyz',
    generation: 1,
    isBlocked: false,
    expiresAt: null,
    rpm: 1_000_000,
    tpm: 1_000_000_000,
    maxBudgetNanoUsd: null,
    periodBudget: null,
    allowedModels: null,
    workspace: {
      workspaceId: `ws_${randomUUID()}`,
      region: 'us',
      billingStatus: 'active',
      monthlyCapNanoUsd: null,
      ...workspace,
    },
    ...fields,
  };
}
