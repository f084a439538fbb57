import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import type { Transaction } from '../database/inTransaction.ts';

/**
 * Writes calls and adds what they cost to every total, and returns how many rows are new or became known. A call recorded
 * before changes nothing, except that `unknown` gives way to `success` or `failure`. At most one event per call.
 */
export async function recordUsage(tx: Transaction, events: UsageRecorded[]): Promise<number> {
  const column = <T>(read: (event: UsageRecorded) => T): T[] => events.map(read);
  const amounts = (read: (event: UsageRecorded) => bigint): string[] => events.map((event) => String(read(event)));
  const instants = (read: (event: UsageRecorded) => number): string[] =>
    events.map((event) => new Date(read(event)).toISOString());
  // Rows are taken in one order by every transaction, so that two of them seldom wait for each other crosswise.
  // A total changes by what a row is now, less what it was before.
  const [result] = await tx.$queryRaw<{ recorded: bigint }[]>`
    WITH incoming AS (
      SELECT * FROM unnest(
        ${column((event) => event.callId)}::UUID[],
        ${column((event) => event.keyId)}::TEXT[],
        ${column((event) => event.workspaceId)}::TEXT[],
        ${column((event) => event.region)}::TEXT[],
        ${column((event) => event.operation)}::TEXT[],
        ${column((event) => event.model)}::TEXT[],
        ${column((event) => event.canonicalModel)}::TEXT[],
        ${column((event) => event.priceVersion)}::INT[],
        ${column((event) => event.status)}::TEXT[],
        ${column((event) => event.reason)}::TEXT[],
        ${column((event) => event.promptTokens)}::INT[],
        ${column((event) => event.cachedPromptTokens)}::INT[],
        ${column((event) => event.completionTokens)}::INT[],
        ${column((event) => event.images)}::INT[],
        ${amounts((event) => event.chargeNanoUsd)}::BIGINT[],
        ${amounts((event) => event.formulaNanoUsd)}::BIGINT[],
        ${amounts((event) => event.holdNanoUsd)}::BIGINT[],
        ${column((event) => event.modality)}::TEXT[],
        ${column((event) => event.billingUnit)}::TEXT[],
        ${column((event) => event.isStream)}::BOOLEAN[],
        ${instants((event) => event.startedAtMs)}::TIMESTAMPTZ[],
        ${instants((event) => Math.max(event.endedAtMs, event.startedAtMs))}::TIMESTAMPTZ[]
      ) AS event (
        call_id, key_id, workspace_id, region, operation, model, canonical_model, price_version, status, reason,
        prompt_tokens, cached_prompt_tokens, completion_tokens, images, charge_nano_usd, formula_nano_usd, hold_nano_usd,
        modality, billing_unit, is_stream, started_at, ended_at
      )
    ), recorded AS (
      INSERT INTO usage_request AS row (
        call_id, key_id, workspace_id, region, operation, model, canonical_model, price_version, status, reason,
        prompt_tokens, cached_prompt_tokens, completion_tokens, images, charge_nano_usd, formula_nano_usd, hold_nano_usd,
        modality, billing_unit, is_stream, started_at, ended_at
      )
      SELECT * FROM incoming ORDER BY call_id
      ON CONFLICT (call_id) DO UPDATE SET (
        region, operation, model, canonical_model, price_version, status, reason,
        prompt_tokens, cached_prompt_tokens, completion_tokens, images, charge_nano_usd, formula_nano_usd, hold_nano_usd,
        modality, billing_unit, is_stream, started_at, ended_at
      ) = ROW (
        excluded.region, excluded.operation, excluded.model, excluded.canonical_model, excluded.price_version,
        excluded.status, excluded.reason, excluded.prompt_tokens, excluded.cached_prompt_tokens,
        excluded.completion_tokens, excluded.images, excluded.charge_nano_usd, excluded.formula_nano_usd,
        excluded.hold_nano_usd, excluded.modality, excluded.billing_unit, excluded.is_stream, excluded.started_at,
        excluded.ended_at
      )
      WHERE row.status = 'unknown' AND excluded.status <> 'unknown'
        AND row.key_id = excluded.key_id AND row.workspace_id = excluded.workspace_id
      RETURNING old AS was, new AS now
    ), change AS (
      SELECT (now).*, 1 AS sign FROM recorded
      UNION ALL
      SELECT (was).*, -1 FROM recorded WHERE (was).call_id IS NOT NULL
    ), keys AS (
      INSERT INTO key_total AS total (key_id, workspace_id, charge_nano_usd)
      SELECT key_id, min(workspace_id), sum(sign * charge_nano_usd) FROM change GROUP BY 1 ORDER BY 1
      ON CONFLICT (key_id) DO UPDATE SET charge_nano_usd = total.charge_nano_usd + excluded.charge_nano_usd
    ), workspaces AS (
      INSERT INTO workspace_total AS total (workspace_id, charge_nano_usd)
      SELECT workspace_id, sum(sign * charge_nano_usd) FROM change GROUP BY 1 ORDER BY 1
      ON CONFLICT (workspace_id) DO UPDATE SET charge_nano_usd = total.charge_nano_usd + excluded.charge_nano_usd
    ), months AS (
      INSERT INTO workspace_month_total AS total (workspace_id, month, charge_nano_usd)
      SELECT workspace_id, date_trunc('month', started_at AT TIME ZONE 'UTC')::DATE, sum(sign * charge_nano_usd)
      FROM change GROUP BY 1, 2 ORDER BY 1, 2
      ON CONFLICT (workspace_id, month) DO UPDATE SET charge_nano_usd = total.charge_nano_usd + excluded.charge_nano_usd
    ), hours AS (
      INSERT INTO key_hour_total AS total
      SELECT key_id, date_trunc('hour', started_at, 'UTC'), canonical_model, modality, sum(sign),
        sum(sign * (status = 'success')::INT), sum(sign * (status = 'failure')::INT), sum(sign * (status = 'unknown')::INT),
        sum(sign * prompt_tokens::BIGINT), sum(sign * cached_prompt_tokens::BIGINT),
        sum(sign * completion_tokens::BIGINT), sum(sign * charge_nano_usd)
      FROM change GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
      ON CONFLICT (key_id, hour, canonical_model, modality) DO UPDATE SET
        requests = total.requests + excluded.requests,
        success = total.success + excluded.success,
        failure = total.failure + excluded.failure,
        unknown = total.unknown + excluded.unknown,
        prompt_tokens = total.prompt_tokens + excluded.prompt_tokens,
        cached_prompt_tokens = total.cached_prompt_tokens + excluded.cached_prompt_tokens,
        completion_tokens = total.completion_tokens + excluded.completion_tokens,
        charge_nano_usd = total.charge_nano_usd + excluded.charge_nano_usd
    )
    SELECT count(*) AS recorded FROM recorded`;
  return Number(result?.recorded ?? 0);
}
