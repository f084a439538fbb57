import type { WorkspaceReport } from './check.ts';
import { checkRedis, type RedisCheckDependencies } from './checkRedis.ts';
import type { ListPrices } from './priceList.ts';
import { type LedgerBooks, readBooks } from './readBooks.ts';
import { readHoursBefore } from './sealBooks.ts';
import { type SealChecks, verifySeals } from './verifySeals.ts';

export interface ReconcileDependencies extends RedisCheckDependencies {
  listPrices: ListPrices;
  /** Longest comparison of all workspaces with Redis. */
  redisTimeMs: number;
}

export interface ReconcileRequest {
  /** Undefined: all workspaces of the ledger. */
  workspaceId?: string | undefined;
  /** Also adds up the rows of sealed hours. */
  verifiesSeals?: boolean;
  /** The workspace after which the comparison with Redis begins, because time may run out for the last ones. */
  afterWorkspace?: string;
  signal?: AbortSignal;
}

export interface Reconciled {
  reports: WorkspaceReport[];
  /** The last workspace compared with Redis, and the number left over for lack of time. */
  lastWorkspace: string;
  unasked: number;
}

const CONCURRENT_WORKSPACES = 4;

/**
 * Recomputes the books of a workspace, or of all, and compares them with Redis. Changes nothing. `doubts` has
 * everything undecided or not finished in time. A statement has the timeout of `auditDb`, and Redis then has
 * `redisTimeMs`. If `signal` fires, rejects after the current workspaces.
 */
export async function reconcile(
  dependencies: ReconcileDependencies,
  { workspaceId, verifiesSeals = false, afterWorkspace = '', signal }: ReconcileRequest = {},
): Promise<Reconciled> {
  const { auditDb, listPrices, redisTimeMs } = dependencies;
  const since = await readHoursBefore(auditDb);
  const prices = await listPrices(auditDb, { since, workspaceId }).catch(() => undefined);
  const found = await readBooks(auditDb, prices ?? [], workspaceId);
  const books = found.length === 0 && workspaceId ? [{ workspaceId, checks: [], unpriced: 0n }] : found;
  const sealChecks = verifiesSeals ? await verifySeals(auditDb, workspaceId, signal) : undefined;
  const reports: WorkspaceReport[] = [];
  let [lastWorkspace, unasked] = [afterWorkspace, 0];
  const waiting = [
    ...books.filter((entry) => entry.workspaceId > afterWorkspace),
    ...books.filter((entry) => entry.workspaceId <= afterWorkspace),
  ].values();
  const giveUpAt = performance.now() + redisTimeMs;
  const workers = Array.from({ length: CONCURRENT_WORKSPACES }, async () => {
    for (const entry of waiting) {
      if (signal?.aborted) return;
      const report = toReport(entry, { isCatalogThere: prices !== undefined, sealChecks });
      reports.push(report);
      if (performance.now() >= giveUpAt) {
        unasked += 1;
        report.doubts.push('there was no time left to ask what Redis counts');
        continue;
      }
      lastWorkspace = entry.workspaceId;
      await addRedis(dependencies, report);
    }
  });
  await Promise.all(workers);
  signal?.throwIfAborted();
  reports.sort((a, b) => (a.workspaceId < b.workspaceId ? -1 : 1));
  return { reports, lastWorkspace, unasked };
}

function toReport(
  { workspaceId, checks, unpriced }: LedgerBooks,
  { isCatalogThere, sealChecks }: { isCatalogThere: boolean; sealChecks: SealChecks | undefined },
): WorkspaceReport {
  const doubts: string[] = [];
  if (unpriced > 0n)
    doubts.push(
      isCatalogThere
        ? `${unpriced} rows name prices that the catalog does not know`
        : `the catalog does not answer: ${unpriced} rows could not be priced again`,
    );
  return { workspaceId, checks: [...checks, ...(sealChecks?.(workspaceId) ?? [])], doubts };
}

async function addRedis(dependencies: ReconcileDependencies, report: WorkspaceReport): Promise<void> {
  const redis = await checkRedis(dependencies, report.workspaceId).catch(() => undefined);
  if (!redis) report.doubts.push('no router says what Redis counts');
  else {
    report.checks.push(...redis.checks);
    report.doubts.push(...redis.doubts);
  }
}
