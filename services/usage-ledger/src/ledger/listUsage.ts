import type { UsageGrouping } from '@turnpike/internal-api/usageLedger';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { sql } from '@turnpike/postgres/sql';
import type { Db } from '../database/createDb.ts';

/** Whose usage: one key's, or that of every key of a workspace. */
export type UsageOwner = { keyId: string } | { workspaceId: string };

/** Sums of usage, by the hour in which calls began. Those of key, day and model that it was grouped by are not null. */
export interface UsageEntry {
  keyId: string | null;
  /** The UTC day, as `YYYY-MM-DD`. */
  day: string | null;
  /** Canonical id. */
  model: string | null;
  requests: bigint;
  success: bigint;
  failure: bigint;
  unknown: bigint;
  promptTokens: bigint;
  cachedPromptTokens: bigint;
  completionTokens: bigint;
  chargeNanoUsd: NanoUsd;
}

type Grouped = 'keyId' | 'day' | 'model';
type UsageRow = Record<Exclude<keyof UsageEntry, Grouped>, string> & Pick<UsageEntry, Grouped>;

/**
 * An owner's usage from the hourly sums, at most `limit` entries in the order of days, then of models and keys. Days are UTC days
 * as `YYYY-MM-DD`, `endDay` is the first one left out.
 */
export async function listUsage(
  db: Db,
  owner: UsageOwner,
  {
    startDay,
    endDay,
    groupBy,
    limit,
  }: { startDay: string; endDay: string; groupBy: readonly UsageGrouping[]; limit: number },
): Promise<UsageEntry[]> {
  const by = (grouping: UsageGrouping): boolean => groupBy.includes(grouping);
  const keyId = 'keyId' in owner ? owner.keyId : null;
  const workspaceId = 'workspaceId' in owner ? owner.workspaceId : null;
  const rows = await db.query(sql<UsageRow>`
    SELECT CASE WHEN ${by('day')} THEN to_char(hour AT TIME ZONE 'UTC', 'YYYY-MM-DD') END AS "day",
      CASE WHEN ${by('model')} THEN canonical_model END COLLATE "C" AS "model", CASE WHEN ${by('key')} THEN key_id END AS "keyId",
      sum(requests)::TEXT AS "requests", sum(success)::TEXT AS "success", sum(failure)::TEXT AS "failure",
      sum(unknown)::TEXT AS "unknown", sum(prompt_tokens)::TEXT AS "promptTokens",
      sum(cached_prompt_tokens)::TEXT AS "cachedPromptTokens", sum(completion_tokens)::TEXT AS "completionTokens",
      sum(charge_nano_usd)::TEXT AS "chargeNanoUsd"
    FROM key_hour_total
    WHERE key_id IN (SELECT key_id FROM key_total WHERE key_id = ${keyId} OR workspace_id = ${workspaceId})
      AND hour >= ${startDay}::TIMESTAMP AT TIME ZONE 'UTC' AND hour < ${endDay}::TIMESTAMP AT TIME ZONE 'UTC'
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3 LIMIT ${limit}`);
  return rows.map((row) => ({
    keyId: row.keyId,
    day: row.day,
    model: row.model,
    requests: BigInt(row.requests),
    success: BigInt(row.success),
    failure: BigInt(row.failure),
    unknown: BigInt(row.unknown),
    promptTokens: BigInt(row.promptTokens),
    cachedPromptTokens: BigInt(row.cachedPromptTokens),
    completionTokens: BigInt(row.completionTokens),
    chargeNanoUsd: BigInt(row.chargeNanoUsd),
  }));
}
