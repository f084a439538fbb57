import { sql } from '@turnpike/postgres/sql';
import type { Db } from '../database/openDatabase.ts';

/** A day that changed so long ago was posted since. */
const LOOK_BACK_DAYS = 30;

/**
 * Moves the spend of each ended UTC day from the wallet of its workspace to what is used. A region may report a day again, so a transfer is
 * the difference to the earlier ones. Returns the number of transfers.
 */
export async function postUsage(db: Db, now = new Date()): Promise<number> {
  const today = now.toISOString().slice(0, 10);
  return db.transaction(async (tx) => {
    await tx.query(sql`SELECT 1 AS one FROM pg_advisory_xact_lock(hashtext('usage'))`);
    // Ids are the day and how many transfers it had before, so that none is ever posted twice. One statement, because a region may report
    // another day meanwhile.
    return tx.execute(sql`
      WITH due AS MATERIALIZED (
        SELECT workspace_id, 'day:' || workspace_id || ':' || day::TEXT AS source, posted.count AS number,
          spend_nano_usd - posted.amount AS difference
        FROM day_spend, LATERAL (
          SELECT count(*) AS count, coalesce(sum(CASE code WHEN 'used' THEN amount ELSE -amount END), 0) AS amount
          FROM transfer WHERE source = 'day:' || workspace_id || ':' || day::TEXT
        ) AS posted
        WHERE day < ${today}::DATE AND changed_at > ${now}::TIMESTAMPTZ - make_interval(days => ${LOOK_BACK_DAYS}::INTEGER)
          AND spend_nano_usd <> posted.amount
      ), accounts AS (
        INSERT INTO ledger_account (account_id, unit)
        SELECT DISTINCT kind || ':' || workspace_id, 'nano_usd' FROM due, (VALUES ('wallet'), ('used')) AS kinds (kind)
        ORDER BY 1
        ON CONFLICT DO NOTHING
      )
      INSERT INTO transfer (transfer_id, unit, debit, credit, amount, code, source)
      SELECT source || ':' || number, 'nano_usd',
        CASE WHEN difference > 0 THEN 'wallet:' ELSE 'used:' END || workspace_id,
        CASE WHEN difference > 0 THEN 'used:' ELSE 'wallet:' END || workspace_id,
        abs(difference)::BIGINT, CASE WHEN difference > 0 THEN 'used' ELSE 'used_less' END, source
      FROM due`);
  });
}
