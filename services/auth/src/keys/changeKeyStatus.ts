import { ApiError } from '@turnpike/public-api/apiError';
import type { AuthServiceFault } from '../api/authServiceError.ts';
import type { Db } from '../database/openDatabases.ts';
import type { ApiKey } from '../generated/client.ts';
import { changeKey } from './changeKey.ts';
import type { Changer } from './keyAudit.ts';
import type { KeyGeneration } from './keyGeneration.ts';

export type KeyStatus = 'active' | 'blocked' | 'revoked';
export type StatusChange = 'revoke' | 'block' | 'unblock';

const RESULTS: Record<StatusChange, KeyStatus> = { revoke: 'revoked', block: 'blocked', unblock: 'active' };

/**
 * Revokes, blocks or unblocks a key; where that is done already, nothing changes. Throws `unknown_key`, `key_revoked` for anything after
 * a revocation, and `key_blocked_by_operator` where the console unblocks what the operator blocked.
 */
export async function changeKeyStatus(
  db: Db,
  { keyId, change, by }: { keyId: string; change: StatusChange; by: Changer },
): Promise<KeyGeneration & { status: KeyStatus }> {
  const side = by === 'operator' ? 'operator' : 'console';
  const { generation } = await changeKey(db, { keyId, by, action: change }, async (key) =>
    toChanges(key, change, side),
  );
  return { ...generation, status: RESULTS[change] };
}

function toChanges({ status, blockedBy }: ApiKey, change: StatusChange, side: 'operator' | 'console') {
  if (change === 'revoke') return { status: RESULTS.revoke };
  if (status === 'revoked') throw new ApiError<AuthServiceFault>({ kind: 'key_revoked' });
  const isKept = status === 'blocked' && blockedBy === 'operator' && side === 'console';
  if (change === 'block') return isKept ? {} : { status: RESULTS.block, blockedBy: side };
  if (isKept) throw new ApiError<AuthServiceFault>({ kind: 'key_blocked_by_operator' });
  // A later block by a process of the version before counts as the operator's.
  return { status: RESULTS.unblock, blockedBy: 'operator' };
}
