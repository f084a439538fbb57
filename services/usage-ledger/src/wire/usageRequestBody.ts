import { toUsdNumber } from '@turnpike/money/nanoUsd';
import type { UsageRecord } from '@turnpike/public-api/usageRecord';
import type { UsageRequest } from '../generated/client.ts';

type ShownRow = Pick<
  UsageRequest,
  | 'callId'
  | 'model'
  | 'canonicalModel'
  | 'status'
  | 'promptTokens'
  | 'completionTokens'
  | 'totalTokens'
  | 'chargeNanoUsd'
  | 'modality'
  | 'billingUnit'
  | 'startedAt'
  | 'endedAt'
>;

/** A recorded call as clients see it. Instants are RFC 3339 with milliseconds. */
export function toUsageRequestBody(usage: ShownRow, generatedAt: Date): UsageRecord {
  return {
    object: 'usage.request',
    currency: 'USD',
    request_id: usage.callId,
    model: usage.model,
    canonical_model: usage.canonicalModel,
    // The table's checks let no other value in, here and in `modality`.
    status: usage.status as UsageRecord['status'],
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: Number(usage.totalTokens),
    total_spend: toUsdNumber(usage.chargeNanoUsd),
    modality: usage.modality as UsageRecord['modality'],
    // Text has tokens in the fields above. Units are for models billed by image, second or minute.
    units_consumed: null,
    billing_unit: usage.billingUnit,
    started_at: usage.startedAt.toISOString(),
    ended_at: usage.endedAt.toISOString(),
    generated_at: generatedAt.toISOString(),
  };
}
