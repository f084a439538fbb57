import type { DailyUsage } from '../ledger/listDailyUsage.ts';

/** A key's day as the operator reads it: counts as numbers, the amount as a decimal string of nano-dollars. */
export function toDailyUsageBody(usage: DailyUsage) {
  return {
    key_id: usage.keyId,
    day: usage.day,
    requests: Number(usage.requests),
    success: Number(usage.success),
    failure: Number(usage.failure),
    unknown: Number(usage.unknown),
    prompt_tokens: Number(usage.promptTokens),
    cached_prompt_tokens: Number(usage.cachedPromptTokens),
    completion_tokens: Number(usage.completionTokens),
    charge_nano_usd: String(usage.chargeNanoUsd),
  };
}
