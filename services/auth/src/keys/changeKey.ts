import { isDeepStrictEqual } from 'node:util';
import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import type { AuthServiceFault } from '../api/authServiceError.ts';
import type { Db } from '../database/openDatabases.ts';
import type { ApiKey, Prisma } from '../generated/client.ts';
import { type Changer, type KeyAction, writeKeyChange } from './keyAudit.ts';
import type { KeyGeneration } from './keyGeneration.ts';

/** Longest wait for a connection and longest transaction, ms. The operator and the edge wait for 10 s. */
export const CHANGE_LIMITS = { maxWait: 3_000, timeout: 8_000 };

/** New values of a key's columns. A column that is undefined stays. */
type Changes = Partial<Omit<ApiKey, 'keyId' | 'workspaceId' | 'generation'>>;

/** A change of one key, and its maker. */
interface Asked {
  keyId: string;
  by: Changer;
  action: KeyAction;
}

/**
 * Locks a key and writes the values that `decide` returns, with a member's line of audit, all in one transaction. If the key has the
 * values already, it stays with its generation. Throws what `decide` throws, and `unknown_key`, also for a key that is not of a
 * member's workspace.
 */
export async function changeKey(
  db: Db,
  { keyId, by, action }: Asked,
  decide: (key: ApiKey, tx: Prisma.TransactionClient) => Promise<Changes>,
): Promise<{ key: ApiKey; generation: KeyGeneration }> {
  return db.$transaction(async (tx) => {
    // The workspace keeps its version, so that no other change is told under the same generation.
    await tx.$executeRaw(sql`
      SELECT 1 FROM api_key JOIN workspace USING (workspace_id) WHERE key_id = ${keyId}
      FOR NO KEY UPDATE OF api_key FOR SHARE OF workspace`);
    const found = await tx.apiKey.findUnique({
      where: { keyId, ...(by !== 'operator' && { workspaceId: by.workspaceId }) },
      include: { workspace: true },
    });
    if (!found) throw new ApiError<AuthServiceFault>({ kind: 'unknown_key' });
    const { workspace, ...before } = found;
    const values = await decide(before, tx);
    const isChanged = Object.entries(values).some(
      ([column, value]) => value !== undefined && !isDeepStrictEqual(value, before[column as keyof Changes]),
    );
    const { workspaceId, version } = workspace;
    const toResult = (key: ApiKey) => ({
      key,
      generation: { keyId, workspaceId, generation: key.generation + version },
    });
    if (!isChanged) return toResult(before);
    const key = await tx.apiKey.update({ where: { keyId }, data: { ...values, generation: { increment: 1 } } });
    await writeKeyChange(tx, { by, action, before, after: key });
    return toResult(key);
  }, CHANGE_LIMITS);
}
