import type { NamedSecret } from '@turnpike/config/secrets';
import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import type { AuthServiceFault } from '../api/authServiceFault.ts';
import type { Db } from '../database/openDatabases.ts';
import type { KeyDetails } from './keyDetails.ts';
import type { KeyGeneration } from './keyGeneration.ts';
import { storeSecret, toStoreFault } from './storedSecret.ts';

export interface Rotation {
  keyId: string;
  /** The new secret, made elsewhere. */
  keySha256: string;
  lastFour: string;
  /** When the old secret ends, unless the key ends sooner anyway. */
  oldEndsAt: Date;
}

export interface RotatedKey {
  key: KeyDetails & { oldLastFour: string; oldEndsAt: Date };
  generation: KeyGeneration;
}

/**
 * Gives a key a new secret beside the one it has, which ends after a grace. Its limits, budget and history stay, as its id does.
 * Throws `unknown_key`, `key_has_two_secrets` while an old one still works, `key_not_in_use` for a key that is blocked, revoked or
 * expired, `key_rotated` for one that has another in its place since a version before, and `key_already_registered`.
 */
export async function rotateKey(
  db: Db,
  { keyId, keySha256, lastFour, oldEndsAt: graceEndsAt }: Rotation,
  { peppers, now }: { peppers: NamedSecret[]; now: Date },
): Promise<RotatedKey> {
  return db.$transaction(async (tx) => {
    await tx.$executeRaw(sql`SELECT 1 FROM api_key WHERE key_id = ${keyId} FOR UPDATE`);
    const key = await tx.apiKey.findUnique({ where: { keyId } });
    if (!key) throw new ApiError<AuthServiceFault>({ kind: 'unknown_key' });
    const { status, expiresAt, replacedBy } = key;
    if (replacedBy !== null) throw new ApiError<AuthServiceFault>({ kind: 'key_rotated', replacedBy });
    if (status !== 'active' || (expiresAt && expiresAt <= now))
      throw new ApiError<AuthServiceFault>({ kind: 'key_not_in_use' });
    if (key.oldEndsAt && key.oldEndsAt > now)
      throw new ApiError<AuthServiceFault>({ kind: 'key_has_two_secrets', oldEndsAt: key.oldEndsAt.toISOString() });

    const secret = await storeSecret(tx, { keySha256, peppers });
    const old = {
      oldLastFour: key.lastFour,
      oldEndsAt: expiresAt && expiresAt < graceEndsAt ? expiresAt : graceEndsAt,
    };
    const { workspace, ...rotated } = await tx.apiKey
      .update({
        where: { keyId },
        data: {
          ...secret,
          lastFour,
          ...old,
          oldStoredHash: key.storedHash,
          oldPepperId: key.pepperId,
          generation: { increment: 1 },
        },
        include: { workspace: true },
      })
      .catch((error: unknown) => {
        throw toStoreFault(error);
      });
    const { workspaceId } = workspace;
    return {
      key: { ...rotated, ...old },
      generation: { keyId, workspaceId, generation: rotated.generation + workspace.version },
    };
  });
}

/**
 * Ends the old secret of a key at once, and nothing else of it; where that has ended already, nothing changes. Throws `unknown_key`,
 * and `no_old_secret` for a key that was never rotated.
 */
export async function endOldSecret(
  db: Db,
  { keyId, now }: { keyId: string; now: Date },
): Promise<{ key: KeyDetails; generation: KeyGeneration }> {
  await db.apiKey.updateMany({
    where: { keyId, oldEndsAt: { gt: now } },
    data: { oldEndsAt: now, generation: { increment: 1 } },
  });
  const key = await db.apiKey.findUnique({ where: { keyId }, include: { workspace: true } });
  if (!key) throw new ApiError<AuthServiceFault>({ kind: 'unknown_key' });
  if (key.oldEndsAt === null) throw new ApiError<AuthServiceFault>({ kind: 'no_old_secret' });
  const { workspaceId, generation, workspace } = key;
  return { key, generation: { keyId, workspaceId, generation: generation + workspace.version } };
}
