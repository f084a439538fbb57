import type { NamedSecret } from '@turnpike/config/secrets';
import { ApiError } from '@turnpike/public-api/apiError';
import type { AuthServiceFault } from '../api/authServiceFault.ts';
import type { Db } from '../database/openDatabases.ts';
import { getKeyDetails, type KeyDetails } from './keyDetails.ts';
import type { KeyGeneration } from './keyGeneration.ts';
import { registerKey } from './registerKey.ts';

export interface Rotation {
  keyId: string;
  /** The new key, made elsewhere. */
  keySha256: string;
  lastFour: string;
  /** When the old key ends, unless it ends sooner anyway. */
  oldEndsAt: Date;
}

export interface RotatedKeys {
  newKey: KeyDetails;
  oldKey: KeyDetails;
  /** The generation of the old key, whose expiry has changed. */
  generation: KeyGeneration;
}

/**
 * Registers a new key with the name and limits of an old one, and sets the old one's end: both or neither. What the old key
 * has spent stays with it. Throws `unknown_key`, `key_rotated` for a key that was rotated before, `key_not_in_use` for one that is
 * blocked, revoked or expired, and `key_already_registered`.
 */
export async function rotateKey(
  db: Db,
  { keyId, keySha256, lastFour, oldEndsAt }: Rotation,
  { peppers, now }: { peppers: NamedSecret[]; now: Date },
): Promise<RotatedKeys> {
  return db.$transaction(async (tx) => {
    await tx.$executeRaw`SELECT 1 FROM api_key WHERE key_id = ${keyId} FOR UPDATE`;
    const { name, workspaceId, rpm, tpm, maxBudgetNanoUsd, expiresAt, status, replacedBy } = await getKeyDetails(
      tx,
      keyId,
    );
    if (replacedBy !== null) throw new ApiError<AuthServiceFault>({ kind: 'key_rotated', replacedBy });
    if (status !== 'active' || (expiresAt && expiresAt <= now))
      throw new ApiError<AuthServiceFault>({ kind: 'key_not_in_use' });
    const limits = { name, workspaceId, rpm, tpm, maxBudgetNanoUsd, expiresAt };
    const registered = await registerKey(tx, { keySha256, lastFour, ...limits }, { peppers });
    const { workspace, ...oldKey } = await tx.apiKey.update({
      where: { keyId },
      data: {
        expiresAt: expiresAt && expiresAt < oldEndsAt ? expiresAt : oldEndsAt,
        replacedBy: registered.keyId,
        generation: { increment: 1 },
      },
      include: { workspace: true },
    });
    const generation = { keyId, workspaceId, generation: oldKey.generation + workspace.version };
    return { newKey: await getKeyDetails(tx, registered.keyId), oldKey, generation };
  });
}
