import type { UsageMeasure } from '@turnpike/console-api/console/usage';
import type { UsageGrouping } from '@turnpike/internal-api/usageLedger';
import { type Sql, sql } from '@turnpike/postgres/sql';
import type { Modality } from '@turnpike/public-api/modality';
import type { Db } from '../database/createDb.ts';
import { type CallSums, type CallSumsRow, sumColumns, toCallSums } from './callSums.ts';

/** Whose usage: one key's, or that of every key of a workspace. */
export type UsageOwner = { keyId: string } | { workspaceId: string };

interface UsageGroup {
  /** Begin of the UTC hour or day. */
  start: Date | null;
  keyId: string | null;
  /** Canonical id. */
  model: string | null;
  modality: Modality | null;
  /** How many groups the entry sums up, which are not among the largest. Null for one group. */
  others: number | null;
}

/** Sums of usage, by the hour in which calls began. A group that was not requested is null. */
export type UsageEntry = UsageGroup & CallSums;

interface UsageQuestion {
  /** A UTC day as `YYYY-MM-DD`. By hour, also a UTC hour as `YYYY-MM-DDTHH:00Z`. */
  start: string;
  /** The first day or hour left out. */
  end: string;
  groupBy: readonly (UsageGrouping | 'hour' | 'modality')[];
  limit: number;
  /** Names so many groups of keys and models apart, those of the largest sums. Sums up the others, unless there is only one of them. */
  top?: { count: number; of: UsageMeasure } | undefined;
}

/** Returns an owner's usage in the order of times, then of models and keys. Returns any `limit` entries if there are more. */
export async function listUsage(db: Db, owner: UsageOwner, question: UsageQuestion): Promise<UsageEntry[]> {
  const rows = await db.query(sql<UsageGroup & CallSumsRow>`
    ${toSums(owner, question)}
    SELECT * FROM sums ORDER BY "start", "model", "modality", "keyId"`);
  return rows.map(({ start, keyId, model, modality, others, ...sums }) => ({
    start,
    keyId,
    model,
    modality,
    others,
    ...toCallSums(sums),
  }));
}

/** Sums up the groups apart from their order, because the planner would else sort every hour of a large workspace. */
function toSums(owner: UsageOwner, question: UsageQuestion): Sql {
  const { groupBy, limit, top } = question;
  if (top && 'workspaceId' in owner && !groupBy.includes('hour')) return toTopSums(owner, { ...question, top });
  const isByTime = groupBy.includes('hour') || groupBy.includes('day');
  return sql`
    WITH part AS (${ofDays(owner, question) ?? ofHours(owner, question)}), ${top ? rank(groupBy, top) : unranked}, sums AS MATERIALIZED (
      SELECT CASE WHEN ${isByTime} THEN "start" END AS "start", "others",
        CASE WHEN "others" IS NULL THEN ${modelIn(groupBy)} END COLLATE "C" AS "model",
        CASE WHEN "others" IS NULL THEN ${modalityIn(groupBy)} END COLLATE "C" AS "modality",
        CASE WHEN "others" IS NULL THEN ${keyIn(groupBy)} END AS "keyId",
        ${sumColumns}
      FROM ranked GROUP BY 1, 2, 3, 4, 5 LIMIT ${limit}
    )`;
}

/**
 * Sums up the largest groups of days or of the range. The others have what the sums of days over all calls have beside these groups. Their
 * rows are read for the comparison alone.
 */
function toTopSums(
  owner: { workspaceId: string },
  question: UsageQuestion & { top: NonNullable<UsageQuestion['top']> },
): Sql {
  const { groupBy, limit, top } = question;
  const isByTime = groupBy.includes('day');
  const rows = ofDays(owner, question) ?? ofHourRows(owner, question);
  const isNamed = [
    groupBy.includes('model') ? sql`of_model = canonical_model` : sql`of_model = ''`,
    groupBy.includes('key') ? sql`of_key = key_id` : sql`of_key = ''`,
  ] as const;
  return sql`
    WITH compared AS (
      SELECT coalesce(${modelIn(groupBy)}, '') AS of_model, coalesce(${keyIn(groupBy)}, '') AS of_key,
        sum(${MEASURES[top.of]}) AS compared
      FROM (${rows}) AS used GROUP BY 1, 2
    ), placed AS (
      SELECT of_model, of_key, count(*) OVER () AS groups,
        row_number() OVER (ORDER BY compared DESC, of_model COLLATE "C", of_key COLLATE "C") AS place
      FROM compared
    ), named AS MATERIALIZED (
      SELECT of_model, of_key, CASE WHEN groups > ${top.count + 1} THEN groups - ${top.count} END::INT AS others
      FROM placed WHERE place <= ${top.count} OR groups <= ${top.count + 1}
    ), of_named AS MATERIALIZED (
      SELECT CASE WHEN ${isByTime} THEN "start" END AS "start", ${modelIn(groupBy)} COLLATE "C" AS "model",
        ${modalityIn(groupBy)} COLLATE "C" AS "modality", ${keyIn(groupBy)} AS "keyId", ${sumColumns}
      FROM (${rows}) AS used
      JOIN named ON ${isNamed[0]} AND ${isNamed[1]}
      GROUP BY 1, 2, 3, 4
    ), of_others AS (
      SELECT "start", ${sumColumns}
      FROM (
        SELECT CASE WHEN ${isByTime} THEN "start" END AS "start", requests, success, failure, unknown, prompt_tokens,
          cached_prompt_tokens, completion_tokens, charge_nano_usd
        FROM (${ofDaysBy(owner, 'none', question)}) AS every_call
        UNION ALL
        SELECT "start", -requests, -success, -failure, -unknown, -prompt_tokens, -cached_prompt_tokens, -completion_tokens,
          -charge_nano_usd
        FROM of_named
      ) AS apart
      GROUP BY 1 HAVING sum(requests) > 0
    ), sums AS MATERIALIZED (
      SELECT "start", NULL::INT AS "others", "model", "modality", "keyId", requests, success, failure, unknown, prompt_tokens,
        cached_prompt_tokens, completion_tokens, charge_nano_usd
      FROM of_named
      UNION ALL
      SELECT of_others."start", counted.others, NULL, NULL, NULL, requests, success, failure, unknown, prompt_tokens,
        cached_prompt_tokens, completion_tokens, charge_nano_usd
      FROM of_others, (SELECT max(others) AS others FROM named) AS counted WHERE counted.others IS NOT NULL
      LIMIT ${limit}
    )`;
}

type GroupBy = UsageQuestion['groupBy'];
const keyIn = (groupBy: GroupBy): Sql => sql`CASE WHEN ${groupBy.includes('key')} THEN key_id END`;
const modelIn = (groupBy: GroupBy): Sql => sql`CASE WHEN ${groupBy.includes('model')} THEN canonical_model END`;
const modalityIn = (groupBy: GroupBy): Sql => sql`CASE WHEN ${groupBy.includes('modality')} THEN modality END`;

const MEASURES: Record<UsageMeasure, Sql> = {
  cost: sql`charge_nano_usd`,
  tokens: sql`prompt_tokens + completion_tokens`,
  requests: sql`requests`,
  errors: sql`failure + unknown`,
};

const unranked = sql`ranked AS (SELECT part.*, NULL::INT AS "others" FROM part)`;

/** Adds to each sum outside the largest groups the number of groups that are merged with it. */
const rank = (groupBy: GroupBy, { count, of }: { count: number; of: UsageMeasure }): Sql => sql`
  compared AS (
    SELECT coalesce(${modelIn(groupBy)}, '') AS of_model, coalesce(${keyIn(groupBy)}, '') AS of_key, sum(${MEASURES[of]}) AS compared
    FROM part GROUP BY 1, 2
  ), named AS (
    SELECT of_model, of_key, count(*) OVER () AS groups,
      row_number() OVER (ORDER BY compared DESC, of_model COLLATE "C", of_key COLLATE "C") AS place
    FROM compared
  ), ranked AS (
    SELECT part.*, CASE WHEN place > ${count} AND groups > ${count + 1} THEN groups - ${count} END::INT AS "others"
    FROM part JOIN named ON of_model = coalesce(${modelIn(groupBy)}, '') AND of_key = coalesce(${keyIn(groupBy)}, '')
  )`;

/**
 * Reads the sums of a workspace's days over all calls, by model or by key. Returns undefined for any other question.
 */
function ofDays(owner: UsageOwner, { start, end, groupBy }: UsageQuestion): Sql | undefined {
  const isByModel = groupBy.includes('model') || groupBy.includes('modality');
  const isByKey = groupBy.includes('key');
  if (!('workspaceId' in owner) || groupBy.includes('hour') || (isByModel && isByKey)) return undefined;
  return ofDaysBy(owner, isByModel ? 'model' : isByKey ? 'key' : 'none', { start, end });
}

const ofDaysBy = (
  { workspaceId }: { workspaceId: string },
  groupedBy: 'none' | 'model' | 'key',
  { start, end }: Pick<UsageQuestion, 'start' | 'end'>,
): Sql => sql`
  SELECT day::TIMESTAMP AT TIME ZONE 'UTC' AS "start", total.* FROM workspace_day_total AS total
  WHERE workspace_id = ${workspaceId} AND grouped_by = ${groupedBy} AND day >= ${start}::DATE AND day < ${end}::DATE`;

/** Reads the sums of hours, key by key. Ends at the limit, if each group is of one key. */
function ofHours(owner: UsageOwner, { start, end, groupBy, limit, top }: UsageQuestion): Sql {
  const keyId = 'keyId' in owner ? owner.keyId : null;
  const workspaceId = 'workspaceId' in owner ? owner.workspaceId : null;
  return sql`
    SELECT key_id, of_key.* FROM (SELECT key_id FROM key_total WHERE key_id = ${keyId} OR workspace_id = ${workspaceId}) AS key
    CROSS JOIN LATERAL (
      SELECT CASE WHEN ${groupBy.includes('hour')} THEN hour
          WHEN ${groupBy.includes('day')} THEN date_bin('1 day', hour, '2000-01-01T00:00Z') END AS "start",
        ${modelIn(groupBy)} AS canonical_model, ${modalityIn(groupBy)} AS modality, ${sumColumns}
      FROM key_hour_total AS total
      WHERE total.key_id = key.key_id
        AND hour >= ${start}::TIMESTAMP AT TIME ZONE 'UTC' AND hour < ${end}::TIMESTAMP AT TIME ZONE 'UTC'
      GROUP BY 1, 2, 3
    ) AS of_key LIMIT ${!top && (groupBy.includes('key') || keyId !== null) ? limit : null}::BIGINT`;
}

/** Reads the sums of hours of a workspace as they are, each with its day. */
const ofHourRows = ({ workspaceId }: { workspaceId: string }, { start, end }: UsageQuestion): Sql => sql`
  SELECT date_bin('1 day', hour, '2000-01-01T00:00Z') AS "start", total.*
  FROM key_total AS key JOIN key_hour_total AS total USING (key_id)
  WHERE key.workspace_id = ${workspaceId}
    AND hour >= ${start}::TIMESTAMP AT TIME ZONE 'UTC' AND hour < ${end}::TIMESTAMP AT TIME ZONE 'UTC'`;
