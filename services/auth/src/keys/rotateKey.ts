import type { NamedSecret } from '@turnpike/config/secrets';
import { ApiError } from '@turnpike/public-api/apiError';
import type { AuthServiceFault } from '../api/authServiceError.ts';
import type { Db } from '../database/openDatabases.ts';
import { changeKey } from './changeKey.ts';
import type { Changer } from './keyAudit.ts';
import type { KeyDetails } from './keyDetails.ts';
import type { KeyGeneration } from './keyGeneration.ts';
import { storeSecret, toStoreFault } from './storedSecret.ts';

export interface Rotation {
  keyId: string;
  by: Changer;
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
 * Throws these faults:
 * - `unknown_key` and `key_already_registered`
 * - `key_has_two_secrets` while an old secret still works
 * - `key_not_in_use` for a key that is blocked, revoked or expired
 * - `key_rotated` for a key that a former version replaced by another key
 */
export async function rotateKey(
  db: Db,
  { keyId, by, keySha256, lastFour, oldEndsAt: graceEndsAt }: Rotation,
  { peppers, now }: { peppers: NamedSecret[]; now: Date },
): Promise<RotatedKey> {
  const { key, generation } = await changeKey(db, { keyId, by, action: 'rotate' }, async (before, tx) => {
    const { status, expiresAt, replacedBy, oldEndsAt } = before;
    if (replacedBy !== null) throw new ApiError<AuthServiceFault>({ kind: 'key_rotated', replacedBy });
    if (status !== 'active' || (expiresAt && expiresAt <= now))
      throw new ApiError<AuthServiceFault>({ kind: 'key_not_in_use' });
    if (oldEndsAt && oldEndsAt > now)
      throw new ApiError<AuthServiceFault>({ kind: 'key_has_two_secrets', oldEndsAt: oldEndsAt.toISOString() });
    return {
      ...(await storeSecret(tx, { keySha256, peppers })),
      lastFour,
      oldStoredHash: before.storedHash,
      oldPepperId: before.pepperId,
      oldLastFour: before.lastFour,
      oldEndsAt: expiresAt && expiresAt < graceEndsAt ? expiresAt : graceEndsAt,
    };
  }).catch((error: unknown) => {
    throw toStoreFault(error);
  });
  return { key: key as RotatedKey['key'], generation };
}

/**
 * Ends the old secret of a key at once, and nothing else of it; where that has ended already, nothing changes. Throws `unknown_key`,
 * and `no_old_secret` for a key that was never rotated.
 */
export async function endOldSecret(
  db: Db,
  { keyId, by, now }: { keyId: string; by: Changer; now: Date },
): Promise<{ key: KeyDetails; generation: KeyGeneration }> {
  return changeKey(db, { keyId, by, action: 'end_old_secret' }, async ({ oldEndsAt }) => {
    if (oldEndsAt === null) throw new ApiError<AuthServiceFault>({ kind: 'no_old_secret' });
    return oldEndsAt > now ? { oldEndsAt: now } : {};
  });
}
