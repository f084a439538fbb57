import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { Db } from '../database/createDb.ts';

/** Whose usage: one key's, or that of every key of a workspace. */
export type UsageOwner = { keyId: string } | { workspaceId: string };

/** What a key used in one UTC day, by the hour in which its calls began. */
export interface DailyUsage {
  keyId: string;
  /** As `YYYY-MM-DD`. */
  day: string;
  requests: bigint;
  success: bigint;
  failure: bigint;
  unknown: bigint;
  promptTokens: bigint;
  cachedPromptTokens: bigint;
  completionTokens: bigint;
  chargeNanoUsd: NanoUsd;
}

type DailyUsageRow = Record<keyof DailyUsage, string>;

/**
 * Usage by day and key from the hourly sums, at most `limit` entries in the order of days. Days are UTC days as
 * `YYYY-MM-DD`, `endDay` is the first one left out.
 */
export async function listDailyUsage(
  db: Db,
  owner: UsageOwner,
  { startDay, endDay, limit }: { startDay: string; endDay: string; limit: number },
): Promise<DailyUsage[]> {
  const keyId = 'keyId' in owner ? owner.keyId : null;
  const workspaceId = 'workspaceId' in owner ? owner.workspaceId : null;
  const rows = await db.$queryRaw<DailyUsageRow[]>`
    SELECT key_id AS "keyId", to_char(hour AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS "day",
      sum(requests)::TEXT AS "requests", sum(success)::TEXT AS "success", sum(failure)::TEXT AS "failure",
      sum(unknown)::TEXT AS "unknown", sum(prompt_tokens)::TEXT AS "promptTokens",
      sum(cached_prompt_tokens)::TEXT AS "cachedPromptTokens", sum(completion_tokens)::TEXT AS "completionTokens",
      sum(charge_nano_usd)::TEXT AS "chargeNanoUsd"
    FROM key_hour_total
    WHERE key_id IN (SELECT key_id FROM key_total WHERE key_id = ${keyId} OR workspace_id = ${workspaceId})
      AND hour >= ${startDay}::TIMESTAMP AT TIME ZONE 'UTC' AND hour < ${endDay}::TIMESTAMP AT TIME ZONE 'UTC'
    GROUP BY 1, 2 ORDER BY 2, 1 LIMIT ${limit}`;
  return rows.map((row) => ({
    keyId: row.keyId,
    day: row.day,
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
