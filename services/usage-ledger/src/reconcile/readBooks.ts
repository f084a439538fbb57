import type { Queryable } from '@turnpike/postgres/database';
import { sql } from '@turnpike/postgres/sql';
import type { Db } from '../database/createDb.ts';
import { type Check, toCheck } from './check.ts';
import { type PriceList, toPricesJson } from './priceList.ts';
import { readHoursBefore } from './sealBooks.ts';

/** The findings of the ledger's own checks in one workspace. */
export interface LedgerBooks {
  workspaceId: string;
  checks: Check[];
  /** Rows with a price version that the price list lacks. Their charges were not recomputed. */
  unpriced: bigint;
}

type SumName =
  | 'rowCharges'
  | 'hourCharges'
  | 'keyCharges'
  | 'workspaceCharge'
  | 'monthCharges'
  | 'usagePostings'
  | 'keysApart'
  | 'hoursApart'
  | 'daysApart'
  | 'rowCalls'
  | 'hourCalls'
  | 'credits'
  | 'creditPostings'
  | 'workspaceCredit'
  | 'repriced'
  | 'mispriced'
  | 'unpriced';
type Sums = { workspaceId: string } & Record<SumName, string>;

/**
 * Recomputes the books of one workspace or of all: seals, rows of open hours, each priced again, and the postings
 * since. Compares the days of open hours with their hours. All values are of one snapshot. Before the first seal that
 * is every row, so `db` needs a statement timeout of minutes.
 */
export async function readBooks(db: Db, prices: PriceList, workspaceId: string | undefined): Promise<LedgerBooks[]> {
  const all = await db.snapshot(async (tx) => {
    const openSince = (await readHoursBefore(tx)).toISOString();
    return sumBooks(tx, { prices: toPricesJson(prices), openSince, of: workspaceId ?? null });
  });
  return all.map((sums) => ({
    workspaceId: sums.workspaceId,
    checks: toChecks(sums),
    unpriced: BigInt(sums.unpriced),
  }));
}

function toChecks(sums: Sums): Check[] {
  const money = (name: Check['name'], left: SumName, right: SumName) =>
    toCheck(name, 'nano_usd', BigInt(sums[left]), BigInt(sums[right]));
  const { credits, rowCharges, creditPostings, usagePostings } = sums;
  return [
    money('rowsAndHours', 'rowCharges', 'hourCharges'),
    money('rowsAndKeys', 'rowCharges', 'keyCharges'),
    money('rowsAndWorkspace', 'rowCharges', 'workspaceCharge'),
    money('rowsAndMonths', 'rowCharges', 'monthCharges'),
    money('rowsAndPostings', 'rowCharges', 'usagePostings'),
    toCheck('keysApart', 'count', BigInt(sums.keysApart), 0n),
    toCheck('hoursApart', 'count', BigInt(sums.hoursApart), 0n),
    toCheck('daysApart', 'count', BigInt(sums.daysApart), 0n),
    toCheck('callsAndHours', 'count', BigInt(sums.rowCalls), BigInt(sums.hourCalls)),
    money('credits', 'credits', 'creditPostings'),
    money('creditsAndWorkspace', 'credits', 'workspaceCredit'),
    toCheck(
      'balance',
      'nano_usd',
      BigInt(credits) - BigInt(rowCharges),
      BigInt(creditPostings) - BigInt(usagePostings),
    ),
    money('repriced', 'rowCharges', 'repriced'),
    toCheck('mispriced', 'count', BigInt(sums.mispriced), 0n),
  ];
}

/** Adds up the parts of each key from every source, then the keys of each workspace. */
function sumBooks(
  tx: Queryable,
  { prices, openSince, of }: { prices: string; openSince: string; of: string | null },
): Promise<Sums[]> {
  return tx.query(sql<Sums>`
    WITH late AS (
      SELECT * FROM seal_amendment
      WHERE hour < ${openSince}::TIMESTAMPTZ AND (${of}::TEXT IS NULL OR workspace_id = ${of})
    ), posted AS MATERIALIZED (
      SELECT workspace_id, added.* FROM workspace_total LEFT JOIN sealed_wallet AS sealed USING (workspace_id)
      CROSS JOIN LATERAL unsealed_postings(workspace_id, coalesce(sealed.seq, -1)) AS added
      WHERE ${of}::TEXT IS NULL OR workspace_id = ${of}
    ), part (workspace_id, key_id, row_calls, row_charge, hour_calls, hour_charge, hours_apart, repriced, mispriced, unpriced,
        key_calls, key_charge, posted) AS (
      SELECT workspace_id, key_id, calls, charge_nano_usd, hour_calls, hour_charge_nano_usd, is_apart::INT, repriced_nano_usd,
        mispriced, unpriced, 0, 0, 0
      FROM usage_by_hour(${prices}::JSON, ${openSince}::TIMESTAMPTZ, 'infinity', ${of}::TEXT)
      UNION ALL
      SELECT workspace_id, key_id, calls, charge_nano_usd, hour_calls, hour_charge_nano_usd, hours_apart, repriced_nano_usd,
        mispriced, unpriced, 0, 0, 0
      FROM sealed_key WHERE ${of}::TEXT IS NULL OR workspace_id = ${of}
      UNION ALL
      SELECT late.workspace_id, late.key_id, late.calls, late.charge_nano_usd, late.calls, late.charge_nano_usd, 0,
        repriced_nano_usd, is_mispriced::INT, is_unpriced::INT, 0, 0, 0
      FROM late LEFT JOIN priced_calls(${prices}::JSON) AS call ON call.call_id = late.call_id AND late.calls = 1
      UNION ALL
      SELECT workspace_id, key_id, 0, 0, 0, 0, 0, 0, 0, 0, requests, charge_nano_usd, 0
      FROM key_total WHERE ${of}::TEXT IS NULL OR workspace_id = ${of}
      UNION ALL
      SELECT workspace_id, key_id, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, charge_nano_usd
      FROM sealed_posting WHERE ${of}::TEXT IS NULL OR workspace_id = ${of}
      UNION ALL
      SELECT workspace_id, key_id, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, charge_nano_usd FROM posted WHERE key_id IS NOT NULL
    ), of_key AS (
      SELECT workspace_id, coalesce(sum(row_calls), 0) AS row_calls, coalesce(sum(row_charge), 0) AS row_charge,
        coalesce(sum(hour_calls), 0) AS hour_calls, coalesce(sum(hour_charge), 0) AS hour_charge,
        sum(hours_apart) AS hours_apart, coalesce(sum(repriced), 0) AS repriced, coalesce(sum(mispriced), 0) AS mispriced,
        coalesce(sum(unpriced), 0) AS unpriced, sum(key_calls) AS key_calls, sum(key_charge) AS key_charge, sum(posted) AS posted
      FROM part GROUP BY workspace_id, key_id
    ), of_workspace AS (
      SELECT workspace_id, sum(row_charge) AS row_charges, sum(hour_charge) AS hour_charges, sum(key_charge) AS key_charges,
        sum(posted) AS usage_postings, sum(row_calls) AS row_calls, sum(hour_calls) AS hour_calls,
        sum(row_charge) + sum(repriced) AS repriced, sum(mispriced) AS mispriced, sum(unpriced) AS unpriced,
        sum(hours_apart) AS hours_apart,
        count(*) FILTER (WHERE row_calls <> key_calls OR row_charge <> hour_charge OR row_charge <> key_charge
          OR row_charge <> posted) AS keys_apart
      FROM of_key GROUP BY 1
    ), of_months AS (
      SELECT workspace_id, sum(charge_nano_usd) AS charge FROM workspace_month_total
      WHERE ${of}::TEXT IS NULL OR workspace_id = ${of} GROUP BY 1
    ), of_credits AS (
      SELECT workspace_id, sum(amount_nano_usd) AS amount FROM credit
      WHERE ${of}::TEXT IS NULL OR workspace_id = ${of} GROUP BY 1
    ), of_credit_postings AS (
      SELECT workspace_id, sum(credited_nano_usd) AS amount FROM (
        SELECT workspace_id, credited_nano_usd FROM posted
        UNION ALL SELECT workspace_id, credited_nano_usd FROM sealed_wallet WHERE ${of}::TEXT IS NULL OR workspace_id = ${of}
      ) AS credited GROUP BY 1
    ), of_days AS (
      SELECT workspace_id, apart FROM days_apart((${openSince}::TIMESTAMPTZ AT TIME ZONE 'UTC')::DATE, ${of}::TEXT)
    )
    SELECT workspace_id AS "workspaceId",
      coalesce(row_charges, 0)::TEXT AS "rowCharges", coalesce(hour_charges, 0)::TEXT AS "hourCharges",
      coalesce(key_charges, 0)::TEXT AS "keyCharges", coalesce(total.charge_nano_usd, 0)::TEXT AS "workspaceCharge",
      coalesce(total.credited_nano_usd, 0)::TEXT AS "workspaceCredit",
      coalesce(of_months.charge, 0)::TEXT AS "monthCharges", coalesce(usage_postings, 0)::TEXT AS "usagePostings",
      coalesce(keys_apart, 0)::TEXT AS "keysApart", coalesce(hours_apart, 0)::TEXT AS "hoursApart",
      coalesce(of_days.apart, 0)::TEXT AS "daysApart",
      coalesce(row_calls, 0)::TEXT AS "rowCalls", coalesce(hour_calls, 0)::TEXT AS "hourCalls",
      coalesce(of_credits.amount, 0)::TEXT AS "credits", coalesce(of_credit_postings.amount, 0)::TEXT AS "creditPostings",
      coalesce(repriced, 0)::TEXT AS "repriced", coalesce(mispriced, 0)::TEXT AS "mispriced",
      coalesce(unpriced, 0)::TEXT AS "unpriced"
    FROM of_workspace FULL JOIN workspace_total AS total USING (workspace_id) FULL JOIN of_months USING (workspace_id)
      FULL JOIN of_credits USING (workspace_id) FULL JOIN of_credit_postings USING (workspace_id) FULL JOIN of_days USING (workspace_id)
    WHERE ${of}::TEXT IS NULL OR workspace_id = ${of}
    ORDER BY workspace_id`);
}
