import { ApiError } from '@turnpike/public-api/apiError';
import type { AuthServiceFault } from '../api/authServiceFault.ts';
import type { Db } from '../database/openDatabases.ts';
import type { KeyGeneration } from './keyGeneration.ts';

export type KeyStatus = 'active' | 'blocked' | 'revoked';
export type StatusChange = 'revoke' | 'block' | 'unblock';

const CHANGES: Record<StatusChange, { from: KeyStatus[]; to: KeyStatus }> = {
  revoke: { from: ['active', 'blocked'], to: 'revoked' },
  block: { from: ['active'], to: 'blocked' },
  unblock: { from: ['blocked'], to: 'active' },
};

/**
 * Revokes, blocks or unblocks a key; where that is done already, nothing changes. Throws `unknown_key`, and `key_revoked`
 * for anything after a revocation.
 */
export async function changeKeyStatus(
  db: Db,
  { keyId, change }: { keyId: string; change: StatusChange },
): Promise<KeyGeneration & { status: KeyStatus }> {
  const { from, to } = CHANGES[change];
  await db.apiKey.updateMany({
    where: { keyId, status: { in: from } },
    data: { status: to, generation: { increment: 1 } },
  });
  const key = await db.apiKey.findUnique({ where: { keyId }, include: { workspace: true } });
  if (!key) throw new ApiError<AuthServiceFault>({ kind: 'unknown_key' });
  if (key.status !== to) throw new ApiError<AuthServiceFault>({ kind: 'key_revoked' });
  const { workspaceId, generation, workspace } = key;
  return { keyId, workspaceId, generation: generation + workspace.version, status: to };
}
