import { sql } from '@turnpike/postgres/sql';
import type { Db } from '../database/createDb.ts';
import { type Check, toCheck } from './check.ts';
import { readHoursBefore } from './sealBooks.ts';
import { type HourSize, splitHours } from './splitHours.ts';

/** How much of a workspace differs from its seals. */
interface Apart {
  seals: number;
  hours: number;
  days: number;
  postings: number;
}
const NOTHING_APART: Apart = { seals: 0, hours: 0, days: 0, postings: 0 };
type ApartRow = Apart & { workspaceId: string };

/** The checks of a workspace's seals. */
export type SealChecks = (workspaceId: string) => Check[];

const CALLS_AT_ONCE = 1_000_000;
/** Older than any call of the ledger. */
const FIRST_HOUR = new Date('2000-01-01T00:00:00Z');

/**
 * Adds up the rows, hourly sums and postings of all that is sealed, of one workspace or of all, and holds them against the seals.
 * Rows that were archived are taken as they were when they were. Each part is of one instant, and the parts are not: a seal with its
 * amendments agrees with the rows at any.
 * Compares the sums of all days with those of their hours.
 */
export async function verifySeals(db: Db, workspaceId: string | undefined, signal?: AbortSignal): Promise<SealChecks> {
  const found = new Map<string, Apart>();
  const note = (rows: ApartRow[]): void => {
    for (const { workspaceId: id, seals, hours, days, postings } of rows) {
      const apart = found.get(id) ?? NOTHING_APART;
      found.set(id, {
        seals: apart.seals + seals,
        hours: apart.hours + hours,
        days: apart.days + days,
        postings: apart.postings + postings,
      });
    }
  };
  const of = workspaceId ?? null;
  const sizes = await db.query(sql<HourSize>`
    SELECT hour, sum(calls)::FLOAT AS calls FROM sealed_hour
    WHERE ${of}::TEXT IS NULL OR workspace_id = ${of} GROUP BY 1 ORDER BY 1`);
  const all = { since: FIRST_HOUR, until: await readHoursBefore(db) };
  for (const { since, until } of splitHours(all, sizes, CALLS_AT_ONCE)) {
    signal?.throwIfAborted();
    note(await compareHours(db, { since: since.toISOString(), until: until.toISOString(), of }));
  }
  note(await compareDays(db, of));
  note(await comparePostings(db, of));
  return (id) => {
    const { seals, hours, days, postings } = found.get(id) ?? NOTHING_APART;
    return [
      toCheck('sealsApart', 'count', BigInt(seals), 0n),
      toCheck('sealedHoursApart', 'count', BigInt(hours), 0n),
      toCheck('sealedDaysApart', 'count', BigInt(days), 0n),
      toCheck('sealedPostingsApart', 'count', BigInt(postings), 0n),
    ];
  };
}

const compareHours = (db: Db, { since, until, of }: { since: string; until: string; of: string | null }) =>
  db.query(sql<ApartRow>`
    WITH added AS MATERIALIZED (
      SELECT * FROM usage_by_hour('[]', ${since}::TIMESTAMPTZ, ${until}::TIMESTAMPTZ, ${of}::TEXT)
    ), archived AS (
      SELECT * FROM archived_hour
      WHERE hour >= ${since}::TIMESTAMPTZ AND hour < ${until}::TIMESTAMPTZ AND (${of}::TEXT IS NULL OR workspace_id = ${of})
    ), side AS (
      SELECT workspace_id, hour, calls, charge_nano_usd, rows_hash FROM added WHERE calls IS NOT NULL
      UNION ALL SELECT workspace_id, hour, calls, charge_nano_usd, rows_hash FROM archived
      UNION ALL
      SELECT workspace_id, hour, -calls, -charge_nano_usd, -rows_hash FROM sealed_hour
      WHERE hour >= ${since}::TIMESTAMPTZ AND hour < ${until}::TIMESTAMPTZ AND (${of}::TEXT IS NULL OR workspace_id = ${of})
      UNION ALL
      SELECT workspace_id, hour, -calls, -charge_nano_usd, -rows_hash FROM seal_amendment
      WHERE hour >= ${since}::TIMESTAMPTZ AND hour < ${until}::TIMESTAMPTZ AND (${of}::TEXT IS NULL OR workspace_id = ${of})
    ), apart AS (
      SELECT workspace_id, 1 AS seals, 0 AS hours FROM side
      GROUP BY workspace_id, hour HAVING (sum(calls), sum(charge_nano_usd), sum(rows_hash)) <> (0, 0, 0)
      UNION ALL
      SELECT workspace_id, 0, 1 FROM added LEFT JOIN archived USING (workspace_id, hour)
      WHERE is_apart AND archived.calls IS NULL
    )
    SELECT workspace_id AS "workspaceId", sum(seals)::INT AS "seals", sum(hours)::INT AS "hours", 0 AS "days", 0 AS "postings"
    FROM apart GROUP BY 1`);

const compareDays = (db: Db, of: string | null) =>
  db.query(sql<ApartRow>`
    SELECT workspace_id AS "workspaceId", 0 AS "seals", 0 AS "hours", apart::INT AS "days", 0 AS "postings"
    FROM days_apart('-infinity', ${of}::TEXT)`);

const comparePostings = (db: Db, of: string | null) =>
  db.query(sql<ApartRow>`
  SELECT sealed.workspace_id AS "workspaceId", 0 AS "seals", 0 AS "hours", 0 AS "days", 1 AS "postings"
  FROM sealed_wallet AS sealed
  LEFT JOIN (
    SELECT workspace_id, count(*) AS postings, sum(wallet_nano_usd) FILTER (WHERE kind = 'credit') AS credited,
      sum(hash_posting(posting)) AS postings_hash
    FROM posting JOIN sealed_wallet AS until USING (workspace_id)
    WHERE posting.seq <= until.seq AND (${of}::TEXT IS NULL OR workspace_id = ${of})
    GROUP BY 1
  ) AS added USING (workspace_id)
  WHERE (${of}::TEXT IS NULL OR workspace_id = ${of})
    AND (coalesce(added.postings, 0), coalesce(added.credited, 0), coalesce(added.postings_hash, 0))
      <> (sealed.postings, sealed.credited_nano_usd, sealed.postings_hash)`);
