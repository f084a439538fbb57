import type { KeyRecordBody } from './keyRecord.ts';

type Fields = Partial<Omit<KeyRecordBody, 'workspace'>> & { workspace?: Partial<KeyRecordBody['workspace']> };

/** Builds auth's answer for a valid key, for tests, which override the fields that they check. */
export const aKeyRecordBody = ({ workspace, ...fields }: Fields = {}): KeyRecordBody => ({
  keyId: 'key_1',
  lastFour: 'abcd',
  generation: 1,
  isBlocked: false,
  expiresAt: null,
  rpm: 600,
  tpm: 1_000_000,
  maxBudgetNanoUsd: null,
  workspace: { workspaceId: 'ws_1', region: 'us', billingStatus: 'active', monthlyCapNanoUsd: null, ...workspace },
  ...fields,
});
