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
}

/** Sums of usage, by the hour in which calls began. A group that was not asked for is null. */
export type UsageEntry = UsageGroup & CallSums;

interface UsageQuestion {
  startDay: string;
  /** The first day left out. */
  endDay: string;
  groupBy: readonly (UsageGrouping | 'hour' | 'modality')[];
  limit: number;
}

/**
 * Returns an owner's usage in the order of times, then of models and keys. Returns any `limit` entries if there are more. Days are UTC
 * days as `YYYY-MM-DD`.
 */
export async function listUsage(db: Db, owner: UsageOwner, question: UsageQuestion): Promise<UsageEntry[]> {
  const { groupBy, limit } = question;
  const isByTime = groupBy.includes('hour') || groupBy.includes('day');
  // The groups are sorted apart, because the planner would else sort every hour of a large workspace.
  const rows = await db.query(sql<UsageGroup & CallSumsRow>`
    WITH part AS (${ofDays(owner, question) ?? ofHours(owner, question)}), sums AS MATERIALIZED (
      SELECT CASE WHEN ${isByTime} THEN "start" END AS "start", ${modelIn(groupBy)} COLLATE "C" AS "model",
        ${modalityIn(groupBy)} COLLATE "C" AS "modality", CASE WHEN ${groupBy.includes('key')} THEN key_id END AS "keyId",
        ${sumColumns}
      FROM part GROUP BY 1, 2, 3, 4 LIMIT ${limit}
    )
    SELECT * FROM sums ORDER BY "start", "model", "modality", "keyId"`);
  return rows.map(({ start, keyId, model, modality, ...sums }) => ({
    start,
    keyId,
    model,
    modality,
    ...toCallSums(sums),
  }));
}

type GroupBy = UsageQuestion['groupBy'];
const modelIn = (groupBy: GroupBy): Sql => sql`CASE WHEN ${groupBy.includes('model')} THEN canonical_model END`;
const modalityIn = (groupBy: GroupBy): Sql => sql`CASE WHEN ${groupBy.includes('modality')} THEN modality END`;

/** Reads the sums of a workspace's days, which are over all calls, by model or by key. Undefined for any other question. */
function ofDays(owner: UsageOwner, { startDay, endDay, groupBy }: UsageQuestion): Sql | undefined {
  const isByModel = groupBy.includes('model') || groupBy.includes('modality');
  const isByKey = groupBy.includes('key');
  if (!('workspaceId' in owner) || groupBy.includes('hour') || (isByModel && isByKey)) return undefined;
  return sql`
    SELECT day::TIMESTAMP AT TIME ZONE 'UTC' AS "start", total.* FROM workspace_day_total AS total
    WHERE workspace_id = ${owner.workspaceId} AND grouped_by = ${isByModel ? 'model' : isByKey ? 'key' : 'none'}
      AND day >= ${startDay}::DATE AND day < ${endDay}::DATE`;
}

/** Reads the sums of hours, key by key. Ends at the limit, if each group is of one key. */
function ofHours(owner: UsageOwner, { startDay, endDay, groupBy, limit }: UsageQuestion): Sql {
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
        AND hour >= ${startDay}::TIMESTAMP AT TIME ZONE 'UTC' AND hour < ${endDay}::TIMESTAMP AT TIME ZONE 'UTC'
      GROUP BY 1, 2, 3
    ) AS of_key LIMIT ${groupBy.includes('key') || keyId !== null ? limit : null}::BIGINT`;
}
