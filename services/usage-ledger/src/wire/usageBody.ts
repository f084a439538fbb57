import { toUsdNumber } from '@turnpike/money/nanoUsd';
import { toUnitsConsumed } from '@turnpike/money/unitPrice';
import type { UsageSummary } from '@turnpike/public-api/usageSummary';
import type { UsageGroup, UsageRange, UsageReport, UsageSums } from '../ledger/sumUsage.ts';

/** A key's usage as clients see it. Instants are RFC 3339 with milliseconds. */
export function toUsageBody(
  { totals, groups }: UsageReport,
  { start, end }: UsageRange,
  generatedAt: Date,
): UsageSummary {
  return {
    object: 'usage',
    currency: 'USD',
    start: start.toISOString(),
    end: end.toISOString(),
    totals: toSumsBody(totals),
    data: groups.map((group) => ({ ...toKeysBody(group), ...toSumsBody(group) })),
    generated_at: generatedAt.toISOString(),
  };
}

/** The group of a row: a value for each thing grouped by. */
function toKeysBody({ model, day, hour, modality }: UsageGroup) {
  return {
    ...(model !== null && { model }),
    ...(day !== null && { day: day.toISOString().slice(0, 10) }),
    ...(hour !== null && { hour: hour.toISOString() }),
    ...(modality !== null && { modality }),
  };
}

function toSumsBody(sums: UsageSums) {
  return {
    requests: Number(sums.requests),
    success: Number(sums.success),
    failure: Number(sums.failure),
    unknown: Number(sums.unknown),
    prompt_tokens: Number(sums.promptTokens),
    completion_tokens: Number(sums.completionTokens),
    total_tokens: Number(sums.promptTokens + sums.completionTokens),
    cache_read_input_tokens: Number(sums.cachedPromptTokens),
    units_consumed: sums.units && toUnitsConsumed(sums.units.count, sums.units.billingUnit),
    total_spend: toUsdNumber(sums.chargeNanoUsd),
  };
}
