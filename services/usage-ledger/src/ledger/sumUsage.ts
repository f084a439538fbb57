import { sql } from '@turnpike/postgres/sql';
import type { BillingUnit, Modality } from '@turnpike/public-api/modality';
import type { Db } from '../database/createDb.ts';
import { type CallSums, type CallSumsRow, sumColumns, toCallSums } from './callSums.ts';

export type UsageDimension = 'model' | 'day' | 'hour' | 'modality';

/** From an hour's begin, and up to another's that is left out. */
export interface UsageRange {
  start: Date;
  end: Date;
}

export interface UsageSums extends CallSums {
  /** Measured units of media. Null without media calls, and for calls of several billing units. */
  units: MeasuredUnits | null;
}

/** Units of one kind; of nothing, where no call consumed any, no kind is known. */
export interface MeasuredUnits {
  count: bigint;
  billingUnit: BillingUnit | null;
}

/** The sums of the calls that agree in what was grouped by; null is what was not. */
export interface UsageGroup extends UsageSums {
  /** Canonical id. */
  model: string | null;
  /** The begin of a UTC day. */
  day: Date | null;
  hour: Date | null;
  modality: Modality | null;
}

export interface UsageReport {
  totals: UsageSums;
  /** Groups by time, then by model and modality. */
  groups: UsageGroup[];
}

type SumsRow = Omit<UsageGroup, keyof UsageSums> &
  CallSumsRow & {
    units: string;
    isMedia: boolean;
    firstUnit: BillingUnit | null;
    lastUnit: BillingUnit | null;
  };

/**
 * Sums a key's usage in a range, in all and by group. One statement reads the hourly sums, so the totals are the sum of the groups.
 * Calls belong to the hour they were admitted in. Gives `limit` groups at most. Grouped by nothing, all calls are one
 * group, and so are none.
 */
export async function sumUsage(
  db: Db,
  keyId: string,
  { start, end, groupBy, limit }: UsageRange & { groupBy: readonly UsageDimension[]; limit: number },
): Promise<UsageReport> {
  const by = (dimension: UsageDimension): boolean => groupBy.includes(dimension);
  // The empty grouping set is the row of totals. It comes first, and comes even if there are no calls.
  const rows = await db.query(sql<SumsRow>`
    WITH used AS (
      SELECT hour, canonical_model, modality, requests, success, failure, unknown, prompt_tokens, cached_prompt_tokens,
        completion_tokens, charge_nano_usd, NULL AS billing_unit, 0 AS units
      FROM key_hour_total
      WHERE key_id = ${keyId} AND hour >= ${start.toISOString()}::TIMESTAMPTZ AND hour < ${end.toISOString()}::TIMESTAMPTZ
      UNION ALL
      SELECT hour, canonical_model, modality, 0, 0, 0, 0, 0, 0, 0, 0, billing_unit, units
      FROM key_hour_units
      WHERE key_id = ${keyId} AND hour >= ${start.toISOString()}::TIMESTAMPTZ AND hour < ${end.toISOString()}::TIMESTAMPTZ
    ), hours AS (
      SELECT CASE WHEN ${by('day')} THEN date_trunc('day', hour, 'UTC') END AS of_day,
        CASE WHEN ${by('hour')} THEN hour END AS of_hour,
        CASE WHEN ${by('model')} THEN canonical_model END COLLATE "C" AS of_model,
        CASE WHEN ${by('modality')} THEN modality END COLLATE "C" AS of_modality,
        used.*
      FROM used
    )
    SELECT of_day AS "day", of_hour AS "hour", of_model AS "model", of_modality AS "modality",
      ${sumColumns}, coalesce(sum(units), 0)::TEXT AS "units",
      coalesce(bool_or(modality <> 'text'), false) AS "isMedia",
      min(billing_unit) AS "firstUnit", max(billing_unit) AS "lastUnit"
    FROM hours
    GROUP BY GROUPING SETS ((), (of_day, of_hour, of_model, of_modality))
    ORDER BY grouping(of_day) DESC, of_day, of_hour, of_model, of_modality
    LIMIT ${limit + 1}`);
  const [totals, ...groups] = rows.map(toGroup);
  if (!totals) throw new Error('a sum without a row of totals');
  return { totals, groups: groupBy.length === 0 ? [totals] : groups };
}

function toGroup({ day, hour, model, modality, ...sums }: SumsRow): UsageGroup {
  return {
    day,
    hour,
    model,
    modality,
    ...toCallSums(sums),
    units:
      sums.isMedia && sums.firstUnit === sums.lastUnit
        ? { count: BigInt(sums.units), billingUnit: sums.firstUnit }
        : null,
  };
}
