import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import type { Transaction } from '../database/inTransaction.ts';

/**
 * Writes calls, adds what they cost to every total and posts it to the wallets, and returns how many rows are new or became
 * known. A call recorded before changes nothing, except that `unknown` gives way to `success` or `failure`. At most one
 * event per call. `source` says in the postings where the events came from.
 *
 * The database's owner does it, in the function `record_usage`: this service's role may not write to the books itself.
 */
export async function recordUsage(tx: Transaction, source: string, events: UsageRecorded[]): Promise<number> {
  const calls = JSON.stringify(events.map(toRow));
  const [result] = await tx.$queryRaw<
    { recorded: bigint }[]
  >`SELECT record_usage(${source}, ${calls}::JSON) AS recorded`;
  return Number(result?.recorded ?? 0);
}

/** A call by the columns of `usage_request`. Amounts as text: a number of JSON is no bigint here. */
const toRow = (event: UsageRecorded) => ({
  call_id: event.callId,
  key_id: event.keyId,
  workspace_id: event.workspaceId,
  region: event.region,
  operation: event.operation,
  model: event.model,
  canonical_model: event.canonicalModel,
  price_version: event.priceVersion,
  status: event.status,
  reason: event.reason,
  prompt_tokens: event.promptTokens,
  cached_prompt_tokens: event.cachedPromptTokens,
  completion_tokens: event.completionTokens,
  images: event.images,
  charge_nano_usd: String(event.chargeNanoUsd),
  formula_nano_usd: String(event.formulaNanoUsd),
  hold_nano_usd: String(event.holdNanoUsd),
  modality: event.modality,
  billing_unit: event.billingUnit,
  is_stream: event.isStream,
  started_at: new Date(event.startedAtMs),
  ended_at: new Date(Math.max(event.endedAtMs, event.startedAtMs)),
});
