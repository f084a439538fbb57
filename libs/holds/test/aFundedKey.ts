import { aKeyRecord } from '@turnpike/internal-api/aKeyRecord';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import type { OpenedRedis } from './openTestRedis.ts';

/** A key whose workspace has this much left; both are loaded, and nothing is spent. */
export async function aFundedKey(
  opened: Pick<OpenedRedis, 'credit' | 'loadKey'>,
  leftNanoUsd: bigint,
  fields: Parameters<typeof aKeyRecord>[0] = {},
): Promise<KeyRecord> {
  const key = aKeyRecord(fields);
  await opened.credit(key.workspace.workspaceId, leftNanoUsd);
  await opened.loadKey(key.workspace.workspaceId, key.keyId, 0n, key.periodBudget?.period);
  return key;
}
