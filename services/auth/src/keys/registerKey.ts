import { randomUUID } from 'node:crypto';
import { toStoredKeyHash } from '@turnpike/api-keys/apiKey';
import type { NamedSecret } from '@turnpike/config/secrets';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { sqlStateOf } from '@turnpike/postgres/databaseFailure';
import { ApiError } from '@turnpike/public-api/apiError';
import type { AuthServiceFault } from '../api/authServiceFault.ts';
import type { Db } from '../database/openDatabases.ts';

/** A key as whoever made it registers it: its hash and last four characters, never the key. */
export interface NewKey {
  keySha256: string;
  lastFour: string;
  name: string;
  workspaceId: string;
  rpm: number;
  tpm: number;
  maxBudgetNanoUsd: NanoUsd | null;
  expiresAt: Date | null;
}

/** Registers a key under the first pepper and returns its id. Throws `key_already_registered` and `workspace_not_found`. */
export async function registerKey(
  db: Pick<Db, 'apiKey'>,
  { keySha256, ...rest }: NewKey,
  { peppers }: { peppers: NamedSecret[] },
): Promise<{ keyId: string }> {
  const hashes = peppers.map(({ id, secret }) => ({ pepperId: id, storedHash: toStoredKeyHash(keySha256, secret) }));
  const [current] = hashes;
  if (!current) throw new Error('no pepper to store keys under');
  const known = await db.apiKey.count({ where: { storedHash: { in: hashes.map(({ storedHash }) => storedHash) } } });
  if (known > 0) throw new ApiError<AuthServiceFault>({ kind: 'key_already_registered' });

  const keyId = `key_${randomUUID().replaceAll('-', '')}`;
  await db.apiKey.create({ data: { keyId, ...current, ...rest } }).catch((error: unknown) => {
    throw toFault(error);
  });
  return { keyId };
}

function toFault(error: unknown): unknown {
  switch (sqlStateOf(error)) {
    case '23505': // unique violation: two registrations of one key at the same moment: one of them comes second
      return new ApiError<AuthServiceFault>({ kind: 'key_already_registered' });
    case '23503': // foreign key violation
      return new ApiError<AuthServiceFault>({ kind: 'workspace_not_found' });
    default:
      return error;
  }
}
