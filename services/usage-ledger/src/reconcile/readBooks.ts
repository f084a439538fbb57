import type { Db } from '../database/createDb.ts';
import { type Check, toCheck } from './check.ts';
import type { PriceList } from './priceList.ts';

/** The findings of the ledger's own checks in one workspace. */
export interface LedgerBooks {
  workspaceId: string;
  checks: Check[];
  /** Rows whose price version the price list lacks: their charges could not be computed again. */
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
  | 'rowCalls'
  | 'hourCalls'
  | 'credits'
  | 'creditPostings'
  | 'workspaceCredit'
  | 'repriced'
  | 'mispriced'
  | 'unpriced';
type Sums = { workspaceId: string } & Record<SumName, string>;

/** A whole table is read: it takes as long as the table is large. */
const TIMEOUT_MS = 10 * 60 * 1_000;

/**
 * Adds up the books anew from the rows, of one workspace or of all, and prices every row again, all of one snapshot. Reads the
 * whole table, so `db` needs a statement timeout of minutes.
 */
export async function readBooks(db: Db, prices: PriceList, workspaceId: string | undefined): Promise<LedgerBooks[]> {
  const all = await db.$transaction(
    async (tx) => {
      await tx.$executeRaw`SET TRANSACTION READ ONLY`;
      return sumBooks(tx, prices, workspaceId ?? null);
    },
    { isolationLevel: 'RepeatableRead', timeout: TIMEOUT_MS },
  );
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

/**
 * The charge of a row by the price list, as `computeCharge` of `libs/money` has it: summed exactly, rounded half-up once. Rows
 * are held against the hourly sums hour by hour as well: a call in the wrong hour changes no greater sum. An hourly sum of
 * nothing is as good as none: a call that became known in another hour leaves one.
 */
function sumBooks(tx: Pick<Db, '$queryRaw'>, prices: PriceList, workspaceId: string | null): Promise<Sums[]> {
  const column = (read: (price: PriceList[number]) => string | number) => prices.map(read);
  return tx.$queryRaw<Sums[]>`
    WITH price AS (
      SELECT * FROM unnest(
        ${column(({ version }) => version)}::INT[],
        ${column(({ model }) => model)}::TEXT[],
        ${column(({ of }) => String(of.prompt))}::NUMERIC[],
        ${column(({ of }) => String(of.inputCacheRead))}::NUMERIC[],
        ${column(({ of }) => String(of.completion))}::NUMERIC[],
        ${column(({ of }) => String(of.image))}::NUMERIC[],
        ${column(({ of }) => String(of.request))}::NUMERIC[]
      ) AS price (price_version, canonical_model, prompt, cached, completion, image, request)
    ), priced_row AS (
      SELECT row.*, price.prompt IS NULL AS is_unpriced,
        CASE WHEN status = 'success' THEN div(
          (prompt_tokens - cached_prompt_tokens) * price.prompt + cached_prompt_tokens * price.cached
            + completion_tokens * price.completion + images * price.image + price.request + 500000000,
          1000000000
        ) ELSE 0 END AS formula
      FROM usage_request AS row LEFT JOIN price USING (price_version, canonical_model)
      WHERE ${workspaceId}::TEXT IS NULL OR workspace_id = ${workspaceId}
    ), of_row_hours AS (
      SELECT workspace_id, key_id, date_trunc('hour', started_at, 'UTC') AS hour, canonical_model, modality,
        count(*) AS calls, sum(charge_nano_usd) AS charge,
        count(*) FILTER (WHERE status = 'success') AS success, count(*) FILTER (WHERE status = 'failure') AS failure,
        count(*) FILTER (WHERE status = 'unknown') AS unknown, sum(prompt_tokens) AS prompt_tokens,
        sum(cached_prompt_tokens) AS cached_prompt_tokens, sum(completion_tokens) AS completion_tokens,
        sum(least(formula, hold_nano_usd)) FILTER (WHERE NOT is_unpriced) AS repriced,
        sum(charge_nano_usd) FILTER (WHERE is_unpriced) AS unpriced_charge,
        count(*) FILTER (WHERE is_unpriced) AS unpriced,
        count(*) FILTER (WHERE NOT is_unpriced
          AND (formula <> formula_nano_usd OR least(formula, hold_nano_usd) <> charge_nano_usd)) AS mispriced
      FROM priced_row GROUP BY 1, 2, 3, 4, 5
    ), of_rows AS (
      SELECT workspace_id, key_id, sum(calls) AS calls, sum(charge) AS charge, sum(success) AS success,
        sum(failure) AS failure, sum(unknown) AS unknown, sum(prompt_tokens) AS prompt_tokens,
        sum(completion_tokens) AS completion_tokens, sum(repriced) AS repriced, sum(unpriced_charge) AS unpriced_charge,
        sum(unpriced) AS unpriced, sum(mispriced) AS mispriced
      FROM of_row_hours GROUP BY 1, 2
    ), of_hours_apart AS (
      SELECT key_id, count(*) AS hours_apart
      FROM of_row_hours AS added FULL JOIN key_hour_total AS total USING (key_id, hour, canonical_model, modality)
      WHERE (added.calls, added.success, added.failure, added.unknown, added.prompt_tokens, added.cached_prompt_tokens,
          added.completion_tokens, added.charge)
          IS DISTINCT FROM
        (total.requests, total.success, total.failure, total.unknown, total.prompt_tokens, total.cached_prompt_tokens,
          total.completion_tokens, total.charge_nano_usd)
        AND (added.calls IS NOT NULL
          OR (total.requests, total.success, total.failure, total.unknown, total.prompt_tokens, total.cached_prompt_tokens,
            total.completion_tokens, total.charge_nano_usd) <> (0, 0, 0, 0, 0, 0, 0, 0))
      GROUP BY 1
    ), of_hours AS (
      SELECT key_id, sum(requests) AS calls, sum(charge_nano_usd) AS charge, sum(success) AS success,
        sum(failure) AS failure, sum(unknown) AS unknown, sum(prompt_tokens) AS prompt_tokens,
        sum(completion_tokens) AS completion_tokens
      FROM key_hour_total GROUP BY 1
    ), of_postings AS (
      SELECT workspace_id, key_id, sum(counter_nano_usd) AS charge FROM posting WHERE kind = 'usage' GROUP BY 1, 2
    ), of_key AS (
      SELECT key_id, coalesce(total.workspace_id, of_rows.workspace_id, of_postings.workspace_id) AS workspace_id,
        coalesce(of_rows.charge, 0) AS row_charge, coalesce(of_rows.calls, 0) AS row_calls,
        coalesce(of_hours.charge, 0) AS hour_charge, coalesce(of_hours.calls, 0) AS hour_calls,
        coalesce(total.charge_nano_usd, 0) AS key_charge, coalesce(total.requests, 0) AS key_calls,
        coalesce(of_postings.charge, 0) AS posted,
        coalesce(repriced, 0) + coalesce(unpriced_charge, 0) AS repriced, coalesce(mispriced, 0) AS mispriced,
        coalesce(unpriced, 0) AS unpriced, coalesce(hours_apart, 0) AS hours_apart,
        (of_rows.success, of_rows.failure, of_rows.unknown, of_rows.prompt_tokens, of_rows.completion_tokens)
          IS DISTINCT FROM
        (of_hours.success, of_hours.failure, of_hours.unknown, of_hours.prompt_tokens, of_hours.completion_tokens) AS is_apart
      FROM of_rows FULL JOIN of_hours USING (key_id) FULL JOIN key_total AS total USING (key_id)
        FULL JOIN of_postings USING (key_id) LEFT JOIN of_hours_apart USING (key_id)
    ), of_workspace AS (
      SELECT workspace_id, sum(row_charge) AS row_charges, sum(hour_charge) AS hour_charges, sum(key_charge) AS key_charges,
        sum(posted) AS usage_postings, sum(row_calls) AS row_calls, sum(hour_calls) AS hour_calls,
        sum(repriced) AS repriced, sum(mispriced) AS mispriced, sum(unpriced) AS unpriced,
        sum(hours_apart) AS hours_apart,
        count(*) FILTER (WHERE is_apart OR row_calls <> key_calls
          OR row_charge <> hour_charge OR row_charge <> key_charge OR row_charge <> posted) AS keys_apart
      FROM of_key GROUP BY 1
    ), of_months AS (
      SELECT workspace_id, sum(charge_nano_usd) AS charge FROM workspace_month_total GROUP BY 1
    ), of_credits AS (
      SELECT workspace_id, sum(amount_nano_usd) AS amount FROM credit GROUP BY 1
    ), of_credit_postings AS (
      SELECT workspace_id, sum(wallet_nano_usd) AS amount FROM posting WHERE kind = 'credit' GROUP BY 1
    )
    SELECT workspace_id AS "workspaceId",
      coalesce(row_charges, 0)::TEXT AS "rowCharges", coalesce(hour_charges, 0)::TEXT AS "hourCharges",
      coalesce(key_charges, 0)::TEXT AS "keyCharges", coalesce(total.charge_nano_usd, 0)::TEXT AS "workspaceCharge",
      coalesce(total.credited_nano_usd, 0)::TEXT AS "workspaceCredit",
      coalesce(of_months.charge, 0)::TEXT AS "monthCharges", coalesce(usage_postings, 0)::TEXT AS "usagePostings",
      coalesce(keys_apart, 0)::TEXT AS "keysApart", coalesce(hours_apart, 0)::TEXT AS "hoursApart", coalesce(row_calls, 0)::TEXT AS "rowCalls",
      coalesce(hour_calls, 0)::TEXT AS "hourCalls", coalesce(of_credits.amount, 0)::TEXT AS "credits",
      coalesce(of_credit_postings.amount, 0)::TEXT AS "creditPostings", coalesce(repriced, 0)::TEXT AS "repriced",
      coalesce(mispriced, 0)::TEXT AS "mispriced", coalesce(unpriced, 0)::TEXT AS "unpriced"
    FROM of_workspace FULL JOIN workspace_total AS total USING (workspace_id) FULL JOIN of_months USING (workspace_id)
      FULL JOIN of_credits USING (workspace_id) FULL JOIN of_credit_postings USING (workspace_id)
    WHERE ${workspaceId}::TEXT IS NULL OR workspace_id = ${workspaceId}
    ORDER BY workspace_id`;
}
