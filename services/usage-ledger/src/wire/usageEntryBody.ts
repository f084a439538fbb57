import type { UsageEntry } from '../ledger/listUsage.ts';

/** Usage as the operator reads it: counts as numbers, the amount as a decimal string of nano-dollars. */
export function toUsageEntryBody(usage: UsageEntry) {
  return {
    ...(usage.keyId !== null && { key_id: usage.keyId }),
    ...(usage.day !== null && { day: usage.day }),
    ...(usage.model !== null && { model: usage.model }),
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
