import type { Region } from '@turnpike/config/region';
import { PAGE_SIZE } from '@turnpike/internal-api/controlPlane';
import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import type { BalanceWatch } from '../billing/balanceWatch.ts';
import type { Db } from '../database/openDatabase.ts';

/** The sums of a workspace's day, as its region tells them. */
interface ToldDay {
  workspace_id: string;
  day: string;
  spend_nano_usd: bigint;
  requests: number;
  seq: number;
}

/**
 * Takes the days of a region. A day replaces one of a lower sequence of the same epoch. Takes nothing from a restored ledger, which has an
 * older epoch, or a day of a lower sequence than the known one. Leaves out workspaces that the account layer does
 * not know. The balances of the others are looked at next. Throws `workspace_of_another_region` and takes nothing.
 */
export async function putDayTotals(
  { db, balanceWatch }: { db: Db; balanceWatch: BalanceWatch },
  region: Region,
  report: { epoch: string; totals: ToldDay[] },
) {
  const answer = await storeDayTotals(db, region, report);
  // After the commit, because a look that ran before it would see the balance of before.
  if (answer.standing === 'counted') await balanceWatch.queueLooks(report.totals.map(({ workspace_id: id }) => id));
  return answer;
}

async function storeDayTotals(db: Db, region: Region, { epoch, totals }: { epoch: string; totals: ToldDay[] }) {
  const days = JSON.stringify(totals.map((total) => ({ ...total, spend_nano_usd: String(total.spend_nano_usd) })));
  return db.transaction(async (tx) => {
    await tx.query(sql`SELECT 1 AS one FROM pg_advisory_xact_lock(hashtext(${`day totals of ${region}`}))`);
    const told = sql`
      json_to_recordset(${days}::JSON) AS told (workspace_id TEXT, day DATE, spend_nano_usd NUMERIC, requests BIGINT, seq BIGINT)`;
    const foreign = await tx.query(sql`
      SELECT FROM ${told} JOIN workspace USING (workspace_id) WHERE region <> ${region} LIMIT 1`);
    if (foreign.length > 0) throw new ApiError({ kind: 'workspace_of_another_region' });
    await tx.execute(sql`
      INSERT INTO region_epoch AS known (region, epoch, confirmed_by, confirmed_at)
      SELECT ${region}, ${epoch}::UUID, first.by, CASE WHEN first.by IS NOT NULL THEN now() END
      FROM (SELECT CASE WHEN NOT EXISTS (SELECT FROM region_epoch WHERE region = ${region}) THEN 'the first report' END AS by) AS first
      ON CONFLICT (region, epoch) DO UPDATE SET last_reported_at = now()`);
    const [now] = await tx.query(sql<{ isConfirmed: boolean; isFollowed: boolean; isBehind: boolean; account: string }>`
      SELECT own.confirmed_at IS NOT NULL AS "isConfirmed",
        EXISTS (
          SELECT FROM region_epoch AS later WHERE later.region = own.region AND later.epoch <> own.epoch
            AND later.first_reported_at > own.first_reported_at AND later.confirmed_at IS NOT NULL
        ) AS "isFollowed",
        EXISTS (
          SELECT FROM ${told} JOIN day_total AS known USING (workspace_id, day)
          WHERE known.epoch = own.epoch AND (known.seq > told.seq
            OR (known.seq = told.seq AND (known.spend_nano_usd, known.requests) <> (told.spend_nano_usd, told.requests)))
        ) AS "isBehind",
        (SELECT epoch::TEXT FROM feed_epoch) AS "account"
      FROM region_epoch AS own WHERE own.region = ${region} AND own.epoch = ${epoch}::UUID`);
    if (!now || now.isFollowed || now.isBehind)
      return { standing: 'outdated' as const, account_epoch: now?.account ?? '' };
    await tx.execute(sql`
      INSERT INTO day_total AS known (workspace_id, day, epoch, seq, spend_nano_usd, requests)
      SELECT workspace_id, day, ${epoch}::UUID, seq, spend_nano_usd, requests FROM ${told} JOIN workspace USING (workspace_id)
      ON CONFLICT (workspace_id, day, epoch) DO UPDATE SET
        seq = excluded.seq, spend_nano_usd = excluded.spend_nano_usd, requests = excluded.requests, reported_at = now()
      WHERE known.seq < excluded.seq`);
    return { standing: now.isConfirmed ? ('counted' as const) : ('aside' as const), account_epoch: now.account };
  });
}

interface EpochRow {
  region: Region;
  epoch: string;
  firstReportedAt: Date;
  lastReportedAt: Date;
  confirmedBy: string | null;
  confirmedAt: Date | null;
}

/** Lists the epochs of every region, the newest first. */
export async function listRegionEpochs(db: Db) {
  const rows = await db.query(sql<EpochRow>`
    SELECT region, epoch::TEXT AS epoch, first_reported_at AS "firstReportedAt", last_reported_at AS "lastReportedAt",
      confirmed_by AS "confirmedBy", confirmed_at AS "confirmedAt"
    FROM region_epoch ORDER BY region, first_reported_at DESC LIMIT ${PAGE_SIZE}`);
  return rows.map((row) => ({
    region: row.region,
    epoch: row.epoch,
    first_reported_at: row.firstReportedAt.toISOString(),
    last_reported_at: row.lastReportedAt.toISOString(),
    confirmed_by: row.confirmedBy,
    confirmed_at: row.confirmedAt?.toISOString() ?? null,
  }));
}

/** Makes the days of an epoch count. Changes nothing for one that counts already. Throws `epoch_not_found`. */
export async function confirmRegionEpoch(db: Db, { region, epoch, by }: { region: Region; epoch: string; by: string }) {
  await db.execute(sql`
    UPDATE region_epoch SET confirmed_by = ${by}, confirmed_at = now()
    WHERE region = ${region} AND epoch = ${epoch}::UUID AND confirmed_at IS NULL`);
  const confirmed = (await listRegionEpochs(db)).find((known) => known.region === region && known.epoch === epoch);
  if (!confirmed) throw new ApiError({ kind: 'epoch_not_found' });
  return confirmed;
}

/** Lists a workspace's days from one on, 500 a page, each as the newest confirmed epoch has it. */
export async function listDayTotals(db: Db, { workspaceId, after }: { workspaceId: string; after: string }) {
  const rows = await db.query(sql<{ day: string; spend: string; requests: bigint; reportedAt: Date }>`
    SELECT day::TEXT AS day, spend_nano_usd::TEXT AS spend, requests, reported_at AS "reportedAt"
    FROM day_spend WHERE workspace_id = ${workspaceId} AND day > ${after === '' ? '-infinity' : after}::DATE
    ORDER BY day LIMIT ${PAGE_SIZE}`);
  return {
    days: rows.map(({ day, spend, requests, reportedAt }) => ({
      day,
      spend_nano_usd: spend,
      requests: Number(requests),
      reported_at: reportedAt.toISOString(),
    })),
    next_after: rows.length < PAGE_SIZE ? null : (rows.at(-1)?.day ?? null),
  };
}
