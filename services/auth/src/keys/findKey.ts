import { toStoredKeyHash } from '@turnpike/api-keys/apiKey';
import type { NamedSecret } from '@turnpike/config/secrets';
import { type KeyRecord, keyRecordSchema } from '@turnpike/internal-api/keyRecord';
import { ApiError } from '@turnpike/public-api/apiError';
import type { AuthFault } from '@turnpike/public-api/authFault';
import type { Db } from '../database/openDatabases.ts';

/**
 * The record of the key with this SHA-256, looked up under every pepper; none for an unknown, revoked or expired key.
 * Throws `auth_unavailable` when the database gives no answer, since no verdict is not a negative one.
 */
export async function findKey(
  db: Db,
  { keySha256, peppers }: { keySha256: string; peppers: NamedSecret[] },
): Promise<KeyRecord | undefined> {
  const storedHashes = peppers.map(({ secret }) => toStoredKeyHash(keySha256, secret));
  const key = await db.apiKey
    .findFirst({ where: { storedHash: { in: storedHashes } }, include: { workspace: true } })
    .catch((error: unknown) => {
      throw new ApiError<AuthFault>({ kind: 'auth_unavailable' }, { cause: error });
    });
  if (!key || key.status === 'revoked') return undefined;
  if (key.expiresAt && key.expiresAt <= new Date()) return undefined;
  const { workspace } = key;
  return keyRecordSchema.parse({
    keyId: key.keyId,
    lastFour: key.lastFour,
    generation: key.generation + workspace.version,
    isBlocked: key.status === 'blocked',
    expiresAt: key.expiresAt?.toISOString() ?? null,
    rpm: key.rpm,
    tpm: key.tpm,
    maxBudgetNanoUsd: key.maxBudgetNanoUsd?.toString() ?? null,
    workspace: {
      workspaceId: workspace.workspaceId,
      region: workspace.region,
      billingStatus: workspace.billingStatus,
      monthlyCapNanoUsd: workspace.monthlyCapNanoUsd?.toString() ?? null,
    },
  });
}
