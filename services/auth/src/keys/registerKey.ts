import { randomUUID } from 'node:crypto';
import type { NamedSecret } from '@turnpike/config/secrets';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { Db } from '../database/openDatabases.ts';
import { storeSecret, toStoreFault } from './storedSecret.ts';

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
  db: Db,
  { keySha256, ...rest }: NewKey,
  { peppers }: { peppers: NamedSecret[] },
): Promise<{ keyId: string }> {
  const secret = await storeSecret(db, { keySha256, peppers });
  const keyId = `key_${randomUUID().replaceAll('-', '')}`;
  await db.apiKey.create({ data: { keyId, ...secret, ...rest } }).catch((error: unknown) => {
    throw toStoreFault(error);
  });
  return { keyId };
}
