import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { sql } from '@turnpike/postgres/sql';

/** Exact sums over calls. */
export interface CallSums {
  requests: bigint;
  success: bigint;
  failure: bigint;
  unknown: bigint;
  promptTokens: bigint;
  cachedPromptTokens: bigint;
  completionTokens: bigint;
  chargeNanoUsd: NanoUsd;
}

/** `sumColumns` as the database returns them. */
export interface CallSumsRow {
  requests: string;
  success: string;
  failure: string;
  unknown: string;
  prompt_tokens: string;
  cached_prompt_tokens: string;
  completion_tokens: string;
  charge_nano_usd: string;
}

/** The sums of a group, of hours, of days, or of such sums. Each is 0 for an empty group. */
export const sumColumns = sql`
  coalesce(sum(requests), 0) AS requests, coalesce(sum(success), 0) AS success, coalesce(sum(failure), 0) AS failure,
  coalesce(sum(unknown), 0) AS unknown, coalesce(sum(prompt_tokens), 0) AS prompt_tokens,
  coalesce(sum(cached_prompt_tokens), 0) AS cached_prompt_tokens, coalesce(sum(completion_tokens), 0) AS completion_tokens,
  coalesce(sum(charge_nano_usd), 0) AS charge_nano_usd`;

export const toCallSums = (row: CallSumsRow): CallSums => ({
  requests: BigInt(row.requests),
  success: BigInt(row.success),
  failure: BigInt(row.failure),
  unknown: BigInt(row.unknown),
  promptTokens: BigInt(row.prompt_tokens),
  cachedPromptTokens: BigInt(row.cached_prompt_tokens),
  completionTokens: BigInt(row.completion_tokens),
  chargeNanoUsd: BigInt(row.charge_nano_usd),
});
