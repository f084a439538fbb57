import { toStoredKeyHash } from '@turnpike/api-keys/apiKey';
import type { NamedSecret } from '@turnpike/config/secrets';
import { sqlStateOf } from '@turnpike/postgres/databaseFailure';
import { ApiError } from '@turnpike/public-api/apiError';
import type { AuthServiceFault } from '../api/authServiceError.ts';
import type { Db } from '../database/openDatabases.ts';

/** A key's secret as it is kept. */
export interface StoredSecret {
  pepperId: string;
  storedHash: string;
}

/** The forms in which a secret with this SHA-256 may be kept: one for each pepper. */
export const toStoredSecrets = (keySha256: string, peppers: NamedSecret[]): StoredSecret[] =>
  peppers.map(({ id, secret }) => ({ pepperId: id, storedHash: toStoredKeyHash(keySha256, secret) }));

/** A new secret as it is to be kept, under the first pepper. Throws `key_already_registered` where a key has it, or had it last. */
export async function storeSecret(
  db: Pick<Db, 'apiKey'>,
  { keySha256, peppers }: { keySha256: string; peppers: NamedSecret[] },
): Promise<StoredSecret> {
  const secrets = toStoredSecrets(keySha256, peppers);
  const [current] = secrets;
  if (!current) throw new Error('no pepper to store keys under');
  const hashes = { in: secrets.map(({ storedHash }) => storedHash) };
  const known = await db.apiKey.count({ where: { OR: [{ storedHash: hashes }, { oldStoredHash: hashes }] } });
  if (known > 0) throw new ApiError<AuthServiceFault>({ kind: 'key_already_registered' });
  return current;
}

/** Maps a failure to store a secret or its key to a fault. */
export function toStoreFault(error: unknown): unknown {
  switch (sqlStateOf(error)) {
    case '23505': // unique violation: two registrations of one key at the same moment: one of them comes second
      return new ApiError<AuthServiceFault>({ kind: 'key_already_registered' });
    case '23503': // foreign key violation
      return new ApiError<AuthServiceFault>({ kind: 'workspace_not_found' });
    default:
      return error;
  }
}
