import { isDeepStrictEqual } from 'node:util';
import type { ConsoleCaller } from '@turnpike/internal-auth/consoleToken';
import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import type { AuthServiceFault } from '../api/authServiceFault.ts';
import type { Db } from '../database/openDatabases.ts';
import type { ApiKey, Prisma } from '../generated/client.ts';
import type { KeyGeneration } from './keyGeneration.ts';

/** The operator, or a member at the console, who changes the keys of one workspace alone. */
export type Changer = 'operator' | ConsoleCaller;

/** Longest wait for a connection and longest transaction, ms. The operator and the edge wait for 10 s. */
const CHANGE_LIMITS = { maxWait: 3_000, timeout: 8_000 };

/** New values of a key's columns. A column that is undefined stays. */
type Changes = Partial<Omit<ApiKey, 'keyId' | 'workspaceId' | 'generation'>>;

/**
 * Locks a key and writes the values that `decide` returns, all in one transaction. If the key has them already, it stays with its
 * generation. Throws what `decide` throws, and `unknown_key`, also for a key that is not of a member's workspace.
 */
export async function changeKey(
  db: Db,
  { keyId, by }: { keyId: string; by: Changer },
  decide: (key: ApiKey, tx: Prisma.TransactionClient) => Promise<Changes>,
): Promise<{ key: ApiKey; generation: KeyGeneration }> {
  return db.$transaction(async (tx) => {
    await tx.$executeRaw(sql`SELECT 1 FROM api_key WHERE key_id = ${keyId} FOR UPDATE`);
    const found = await tx.apiKey.findUnique({
      where: { keyId, ...(by !== 'operator' && { workspaceId: by.workspaceId }) },
      include: { workspace: true },
    });
    if (!found) throw new ApiError<AuthServiceFault>({ kind: 'unknown_key' });
    const { workspace, ...before } = found;
    const after = await decide(before, tx);
    const isChanged = Object.entries(after).some(
      ([column, value]) => value !== undefined && !isDeepStrictEqual(value, before[column as keyof Changes]),
    );
    const key = isChanged
      ? await tx.apiKey.update({ where: { keyId }, data: { ...after, generation: { increment: 1 } } })
      : before;
    const { workspaceId, version } = workspace;
    return { key, generation: { keyId, workspaceId, generation: key.generation + version } };
  }, CHANGE_LIMITS);
}
