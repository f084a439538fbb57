import type { Queryable } from '@turnpike/postgres/database';
import { sql } from '@turnpike/postgres/sql';
import type { Db } from '../database/createDb.ts';
import { type ListPrices, toPricesJson } from './priceList.ts';
import { type HourSize, splitHours } from './splitHours.ts';

export interface SealOptions {
  listPrices: ListPrices;
  /** Time for sealing. The next run continues. */
  timeMs: number;
  signal: AbortSignal;
}

/** Most calls and postings of one statement, some seconds of work. */
const CALLS_AT_ONCE = 500_000;
const POSTINGS_AT_ONCE = 1_000_000;
/** Older than any call of the ledger. */
const FIRST_HOUR = new Date('2000-01-01T00:00:00Z');

/**
 * Seals every hour that ended 2 h ago, and every posting, so that audits need not add them up again. Each part is
 * sealed separately and stays sealed if a later one fails. Rejects while the catalog does not answer, because seals
 * contain the recomputed charges.
 */
export async function sealBooks(db: Db, { listPrices, timeMs, signal }: SealOptions): Promise<void> {
  const giveUpAt = performance.now() + timeMs;
  const isOver = (): boolean => signal.aborted || performance.now() >= giveUpAt;
  const until = await findLastHour(db);
  await db.execute(sql`SELECT begin_sealing(${until.toISOString()}::TIMESTAMPTZ)`);
  const since = await readHoursBefore(db);
  const parts = splitHours({ since, until }, await readHourSizes(db, since), CALLS_AT_ONCE);
  // Amendments may have come although no hour has ended since.
  for (const part of parts.length > 0 ? parts : [{ since: until, until }]) {
    if (isOver()) return;
    const prices = toPricesJson(await listPrices(db, part));
    await db.snapshot((tx) =>
      tx.execute(sql`SELECT seal_usage(${part.until.toISOString()}::TIMESTAMPTZ, ${prices}::JSON)`),
    );
  }
  for (const workspaceIds of await listUnsealedWallets(db)) {
    if (isOver()) return;
    await db.snapshot((tx) => tx.execute(sql`SELECT seal_postings(${workspaceIds}::TEXT[])`));
  }
}

/** Returns the start of the open hours. Earlier hours are sealed. */
export async function readHoursBefore(db: Queryable): Promise<Date> {
  const [row] = await db.query(sql<{ hoursBefore: Date }>`SELECT hours_before AS "hoursBefore" FROM sealing`);
  return row?.hoursBefore ?? FIRST_HOUR;
}

/** The instant before which hours are to be sealed, by the database's clock. */
async function findLastHour(db: Db): Promise<Date> {
  const [row] = await db.query(sql<{ hour: Date }>`
    SELECT date_trunc('hour', now() - INTERVAL '2 hours', 'UTC') AS hour`);
  return row?.hour ?? FIRST_HOUR;
}

/** Reads the size of each hour from the hourly sums. The size only decides how much one statement adds up. */
const readHourSizes = (db: Db, since: Date): Promise<HourSize[]> =>
  db.query(sql<HourSize>`
    SELECT hour, sum(requests)::FLOAT AS calls FROM key_hour_total
    WHERE hour >= ${since.toISOString()}::TIMESTAMPTZ AND hour < now() - INTERVAL '2 hours' GROUP BY 1 ORDER BY 1`);

/** Workspaces with postings that are not sealed, as many at once as have some number of them. */
async function listUnsealedWallets(db: Db): Promise<string[][]> {
  const rows = await db.query(sql<{ workspaceIds: string[] }>`
    SELECT array_agg(workspace_id) AS "workspaceIds" FROM (
      SELECT workspace_id,
        div(sum(total.seq - coalesce(sealed.seq, 0)) OVER (ORDER BY workspace_id), ${POSTINGS_AT_ONCE}) AS part
      FROM workspace_total AS total LEFT JOIN sealed_wallet AS sealed USING (workspace_id)
      WHERE total.seq > coalesce(sealed.seq, -1)
    ) AS unsealed GROUP BY part ORDER BY part`);
  return rows.map(({ workspaceIds }) => workspaceIds);
}
