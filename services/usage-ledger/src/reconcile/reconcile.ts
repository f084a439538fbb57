import type { WorkspaceReport } from './check.ts';
import { checkRedis, type RedisCheckDependencies } from './checkRedis.ts';
import type { ListPrices } from './priceList.ts';
import { type LedgerBooks, readBooks } from './readBooks.ts';

export interface ReconcileDependencies extends RedisCheckDependencies {
  listPrices: ListPrices;
  /** Longest that all workspaces together are held against Redis. */
  redisTimeMs: number;
}

const CONCURRENT_WORKSPACES = 4;

/**
 * Adds up the books of a workspace, or of all that the ledger knows, and holds them against what Redis counts. Changes
 * nothing. What cannot be decided, or not in time, is said in `doubts`: the rows have the statement timeout of `auditDb`, then
 * Redis has `redisTimeMs`. Rejects once the workspaces in hand are checked where `signal` fires.
 */
export async function reconcile(
  dependencies: ReconcileDependencies,
  workspaceId: string | undefined,
  signal?: AbortSignal,
): Promise<WorkspaceReport[]> {
  const { auditDb, listPrices, redisTimeMs } = dependencies;
  const prices = await listPrices(auditDb).catch(() => undefined);
  const found = await readBooks(auditDb, prices ?? [], workspaceId);
  const books = found.length === 0 && workspaceId ? [{ workspaceId, checks: [], unpriced: 0n }] : found;
  const reports: WorkspaceReport[] = [];
  const waiting = books.values();
  const giveUpAt = performance.now() + redisTimeMs;
  const workers = Array.from({ length: CONCURRENT_WORKSPACES }, async () => {
    for (const entry of waiting) {
      if (signal?.aborted) return;
      reports.push(await toReport(dependencies, entry, { isCatalogThere: prices !== undefined, giveUpAt }));
    }
  });
  await Promise.all(workers);
  signal?.throwIfAborted();
  return reports.sort((a, b) => (a.workspaceId < b.workspaceId ? -1 : 1));
}

async function toReport(
  dependencies: ReconcileDependencies,
  { workspaceId, checks, unpriced }: LedgerBooks,
  { isCatalogThere, giveUpAt }: { isCatalogThere: boolean; giveUpAt: number },
): Promise<WorkspaceReport> {
  const doubts: string[] = [];
  if (unpriced > 0n)
    doubts.push(
      isCatalogThere
        ? `${unpriced} rows name prices that the catalog does not know`
        : `the catalog does not answer: ${unpriced} rows could not be priced again`,
    );
  if (performance.now() >= giveUpAt) {
    doubts.push('there was no time left to ask what Redis counts');
    return { workspaceId, checks, doubts };
  }
  const redis = await checkRedis(dependencies, workspaceId).catch(() => undefined);
  if (!redis) doubts.push('no router says what Redis counts');
  else doubts.push(...redis.doubts);
  return { workspaceId, checks: [...checks, ...(redis?.checks ?? [])], doubts };
}
