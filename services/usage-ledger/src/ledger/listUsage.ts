import type { UsageGrouping } from '@turnpike/internal-api/usageLedger';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { sql } from '@turnpike/postgres/sql';
import type { Modality } from '@turnpike/public-api/modality';
import type { Db } from '../database/createDb.ts';

/** Whose usage: one key's, or that of every key of a workspace. */
export type UsageOwner = { keyId: string } | { workspaceId: string };

/** Sums of usage, by the hour in which calls began. A group that was not asked for is null. */
export interface UsageEntry {
  /** Begin of the UTC hour or day. */
  start: Date | null;
  keyId: string | null;
  /** Canonical id. */
  model: string | null;
  modality: Modality | null;
  requests: bigint;
  success: bigint;
  failure: bigint;
  unknown: bigint;
  promptTokens: bigint;
  cachedPromptTokens: bigint;
  completionTokens: bigint;
  chargeNanoUsd: NanoUsd;
}

type Grouped = 'start' | 'keyId' | 'model' | 'modality';
type UsageRow = Record<Exclude<keyof UsageEntry, Grouped>, string> & Pick<UsageEntry, Grouped>;

/**
 * Returns an owner's usage from the hourly sums in the order of times, then of models and keys. Returns any `limit` entries if there are
 * more. Days are UTC days as `YYYY-MM-DD`; `endDay` is the first day left out.
 */
export async function listUsage(
  db: Db,
  owner: UsageOwner,
  {
    startDay,
    endDay,
    groupBy,
    limit,
  }: { startDay: string; endDay: string; groupBy: readonly (UsageGrouping | 'hour' | 'modality')[]; limit: number },
): Promise<UsageEntry[]> {
  const by = (grouping: UsageGrouping | 'hour' | 'modality'): boolean => groupBy.includes(grouping);
  const keyId = 'keyId' in owner ? owner.keyId : null;
  const workspaceId = 'workspaceId' in owner ? owner.workspaceId : null;
  // The groups are sorted apart, because the planner would else sort every hour of a large workspace.
  const rows = await db.query(sql<UsageRow>`
    WITH sums AS MATERIALIZED (
      SELECT CASE WHEN ${by('hour')} THEN hour WHEN ${by('day')} THEN date_bin('1 day', hour, '2000-01-01T00:00Z') END AS "start",
        CASE WHEN ${by('model')} THEN canonical_model END COLLATE "C" AS "model",
        CASE WHEN ${by('modality')} THEN modality END COLLATE "C" AS "modality", CASE WHEN ${by('key')} THEN key_id END AS "keyId",
        sum(requests)::TEXT AS "requests", sum(success)::TEXT AS "success", sum(failure)::TEXT AS "failure",
        sum(unknown)::TEXT AS "unknown", sum(prompt_tokens)::TEXT AS "promptTokens",
        sum(cached_prompt_tokens)::TEXT AS "cachedPromptTokens", sum(completion_tokens)::TEXT AS "completionTokens",
        sum(charge_nano_usd)::TEXT AS "chargeNanoUsd"
      FROM key_hour_total
      WHERE key_id IN (SELECT key_id FROM key_total WHERE key_id = ${keyId} OR workspace_id = ${workspaceId})
        AND hour >= ${startDay}::TIMESTAMP AT TIME ZONE 'UTC' AND hour < ${endDay}::TIMESTAMP AT TIME ZONE 'UTC'
      GROUP BY 1, 2, 3, 4 LIMIT ${limit}
    )
    SELECT * FROM sums ORDER BY "start", "model", "modality", "keyId"`);
  return rows.map(({ start, keyId, model, modality, ...sums }) => ({
    start,
    keyId,
    model,
    modality,
    requests: BigInt(sums.requests),
    success: BigInt(sums.success),
    failure: BigInt(sums.failure),
    unknown: BigInt(sums.unknown),
    promptTokens: BigInt(sums.promptTokens),
    cachedPromptTokens: BigInt(sums.cachedPromptTokens),
    completionTokens: BigInt(sums.completionTokens),
    chargeNanoUsd: BigInt(sums.chargeNanoUsd),
  }));
}
