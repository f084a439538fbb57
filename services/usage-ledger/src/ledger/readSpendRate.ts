import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { sql } from '@turnpike/postgres/sql';
import type { Db } from '../database/createDb.ts';

const HOUR_MS = 60 * 60 * 1_000;
const MEAN_DAYS = 7;

/** A workspace's credit by the recorded calls, and its mean spend a day. */
export interface SpendRate {
  creditNanoUsd: NanoUsd;
  perDayNanoUsd: NanoUsd;
}

/** Reads the spend rate of a workspace: the mean of the last 7 × 24 whole hours, also for a workspace that is younger. */
export async function readSpendRate(
  db: Db,
  { workspaceId, now }: { workspaceId: string; now: Date },
): Promise<SpendRate> {
  const end = new Date(Math.floor(now.getTime() / HOUR_MS) * HOUR_MS);
  const start = new Date(end.getTime() - MEAN_DAYS * 24 * HOUR_MS);
  const [row] = await db.query(sql<{ credit: string; spent: string }>`
    SELECT
      coalesce((SELECT credited_nano_usd - charge_nano_usd FROM workspace_total WHERE workspace_id = ${workspaceId}), 0)::TEXT
        AS "credit",
      coalesce((
        SELECT sum(charge_nano_usd) FROM key_hour_total
        WHERE key_id IN (SELECT key_id FROM key_total WHERE workspace_id = ${workspaceId})
          AND hour >= ${start.toISOString()}::TIMESTAMPTZ AND hour < ${end.toISOString()}::TIMESTAMPTZ
      ), 0)::TEXT AS "spent"`);
  return { creditNanoUsd: BigInt(row?.credit ?? 0), perDayNanoUsd: BigInt(row?.spent ?? 0) / BigInt(MEAN_DAYS) };
}
