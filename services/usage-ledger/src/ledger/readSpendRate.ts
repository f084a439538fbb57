import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { sql } from '@turnpike/postgres/sql';
import type { Db } from '../database/createDb.ts';

const HOUR_MS = 60 * 60 * 1_000;
const DAY_HOURS = 24;
const MEAN_HOURS = 7 * DAY_HOURS;

/** A workspace's credit by the recorded calls, and its mean spend a day. */
export interface SpendRate {
  creditNanoUsd: NanoUsd;
  perDayNanoUsd: NanoUsd;
  /** Hours that the mean is over. */
  meanHours: number;
}

/**
 * Reads the spend rate of a workspace: the mean of the last 7 × 24 hours with the current one. The mean of a younger workspace is over the
 * hours since its first credit or call, at least 24.
 */
export async function readSpendRate(
  db: Db,
  { workspaceId, now }: { workspaceId: string; now: Date },
): Promise<SpendRate> {
  const end = Math.floor(now.getTime() / HOUR_MS) * HOUR_MS + HOUR_MS;
  const start = new Date(end - MEAN_HOURS * HOUR_MS);
  const [row] = await db.query(sql<{ credit: string; spent: string; begin: Date | null }>`
    SELECT
      coalesce((SELECT credited_nano_usd - charge_nano_usd FROM workspace_total WHERE workspace_id = ${workspaceId}), 0)::TEXT
        AS "credit",
      coalesce(sum(charge_nano_usd), 0)::TEXT AS "spent",
      least(min(hour), (SELECT created_at FROM credit WHERE workspace_id = ${workspaceId} ORDER BY seq LIMIT 1)) AS "begin"
    FROM key_hour_total
    WHERE key_id IN (SELECT key_id FROM key_total WHERE workspace_id = ${workspaceId})
      AND hour >= ${start.toISOString()}::TIMESTAMPTZ AND hour < ${new Date(end).toISOString()}::TIMESTAMPTZ`);
  const ageHours = Math.ceil((end - (row?.begin ?? now).getTime()) / HOUR_MS);
  const meanHours = Math.min(Math.max(ageHours, DAY_HOURS), MEAN_HOURS);
  const perDayNanoUsd = (BigInt(row?.spent ?? 0) * BigInt(DAY_HOURS)) / BigInt(meanHours);
  return { creditNanoUsd: BigInt(row?.credit ?? 0), perDayNanoUsd, meanHours };
}
