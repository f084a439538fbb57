import { PAGE_SIZE } from '@turnpike/internal-api/controlPlane';
import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import type { Db, Tx } from '../database/openDatabase.ts';

/** The dollars per euro of a UTC month, in units of 1e-4. */
export interface Rate {
  month: string;
  rateE4: number;
}

/** Without a rate of its own, a month goes on with the one before up to this day. */
const LAST_DAY_OF_GRACE = 5;
/** A larger change against the month before has to be confirmed by the operator. */
const MAX_CHANGE_PERCENT = 10;
/** Rounds a decimal text half up to units of 1e-4. */
function toRateE4(text: string): number {
  const [whole = '', fraction = ''] = text.split('.');
  const digits = fraction.padEnd(5, '0');
  return Number(`${whole}${digits.slice(0, 4)}`) + (Number(digits[4]) >= 5 ? 1 : 0);
}

interface Observation {
  /** The observed month. Its average is the rate of the month after. */
  period: string;
  value: string;
}

/**
 * Adds the rates that are not there yet. The first writer of a month wins: a later revision of the source changes none. Adds nothing and
 * throws `month_not_over`, or `rate_out_of_range` if one differs by more than 10 % from the month before it, unless `isConfirmed`.
 */
export async function importRates(
  db: Db,
  file: { series: string; sha256: string; observations: Observation[]; isConfirmed: boolean; by: string },
  now = new Date(),
): Promise<{ added: number; kept: { month: string; value: string; known_value: string }[] }> {
  const observations = file.observations.toSorted((a, b) => (a.period < b.period ? -1 : 1));
  return db.transaction(async (tx) => {
    await tx.query(sql`SELECT 1 AS one FROM pg_advisory_xact_lock(hashtext('rates'))`);
    const known = new Map(
      (
        await tx.query(sql<{ month: string; rateE4: number; value: string }>`
        SELECT month, rate_e4 AS "rateE4", value_text AS value FROM rate_month`)
      ).map((row) => [row.month, row]),
    );
    const kept = [];
    let added = 0;
    for (const { period, value } of observations) {
      const month = monthAfter(period);
      if (period >= monthOf(now)) throw new ApiError({ kind: 'month_not_over', month: period });
      const rateE4 = toRateE4(value);
      const there = known.get(month);
      if (there) {
        if (there.rateE4 !== rateE4) kept.push({ month, value, known_value: there.value });
        continue;
      }
      const before = known.get(period)?.rateE4;
      if (before !== undefined && !file.isConfirmed && Math.abs(rateE4 - before) * 100 > before * MAX_CHANGE_PERCENT)
        throw new ApiError({ kind: 'rate_out_of_range', month, value, percent: String(MAX_CHANGE_PERCENT) });
      await tx.execute(sql`
        INSERT INTO rate_month (month, series, source_period, value_text, rate_e4, sha256, imported_by)
        VALUES (${month}, ${file.series}, ${period}, ${value}, ${rateE4}, ${file.sha256}, ${file.by})`);
      known.set(month, { month, rateE4, value });
      added += 1;
    }
    return { added, kept };
  });
}

interface RateRow {
  month: string;
  rateE4: number;
  series: string;
  period: string;
  value: string;
  sha256: string;
  importedBy: string;
  importedAt: Date;
}

/** Lists rates, the newest first. */
export async function listRates(db: Db) {
  const rows = await db.query(sql<RateRow>`
    SELECT month, rate_e4 AS "rateE4", series, source_period AS period, value_text AS value, sha256, imported_by AS "importedBy",
      imported_at AS "importedAt"
    FROM rate_month ORDER BY month DESC LIMIT ${PAGE_SIZE}`);
  return rows.map((row) => ({
    month: row.month,
    usd_per_eur: toRateText(row.rateE4),
    series: row.series,
    source_period: row.period,
    source_value: row.value,
    sha256: row.sha256,
    imported_by: row.importedBy,
    imported_at: row.importedAt.toISOString(),
  }));
}

/** `10842` is `1.0842`. */
export const toRateText = (rateE4: number): string =>
  `${Math.floor(rateE4 / 10_000)}.${String(rateE4 % 10_000).padStart(4, '0')}`;

/**
 * Returns the rates of a month and of the month before, the newer first. Those that were imported after a charge come last. A charge has
 * whole seconds.
 */
async function findRates(db: Pick<Tx, '$queryRaw'>, month: string, chargedAt: Date | null = null): Promise<Rate[]> {
  return db.$queryRaw<Rate[]>(sql`
    SELECT month, rate_e4 AS "rateE4" FROM rate_month WHERE month IN (${month}, ${monthBefore(month)})
    ORDER BY coalesce(date_trunc('second', imported_at) <= ${chargedAt}::TIMESTAMPTZ, true) DESC, month DESC`);
}

/** Returns the rate at which euros are taken now: the month's, or up to its 5th day that of the month before. Undefined without either. */
export async function findOfferedRate(db: Db, now: Date): Promise<Rate | undefined> {
  const month = monthOf(now);
  const [rate] = await findRates(db, month);
  return rate && (rate.month === month || now.getUTCDate() <= LAST_DAY_OF_GRACE) ? rate : undefined;
}

/**
 * Returns the rate of euros that were charged at an instant: that which was in force then, however late the payment is seen. Falls back to
 * the month before, because the money of a page that was offered is credited. Throws without either.
 */
export async function getChargedRate(tx: Pick<Tx, '$queryRaw'>, chargedAt: Date): Promise<Rate> {
  const month = monthOf(chargedAt);
  const [rate] = await findRates(tx, month, chargedAt);
  if (!rate) throw new Error(`euros were charged in ${month}, and there is no rate for them`);
  return rate;
}

/** The UTC month of an instant, as `YYYY-MM`. */
export const monthOf = (instant: Date): string => instant.toISOString().slice(0, 7);

function shift(month: string, by: number): string {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return monthOf(new Date(Date.UTC(year, number - 1 + by)));
}

const monthAfter = (month: string): string => shift(month, 1);
const monthBefore = (month: string): string => shift(month, -1);
