import type { TokenUsage } from '@turnpike/public-api/tokenUsage';
import { z } from 'zod';
import type { EngineUsage } from '../../money/call/toEvent.ts';

/** An engine's count with what clients are told beyond what they are billed for. */
export interface ShownUsage extends EngineUsage {
  /** Part of the completion that was thinking; an engine that does not say counts as none. */
  reasoningTokens: number;
}

const count = z
  .number()
  .int()
  .min(0)
  .max(2 ** 31 - 1);
const usageSchema = z.object({
  prompt_tokens: count,
  completion_tokens: count.nullish(),
  prompt_tokens_details: z.looseObject({ cached_tokens: count.nullish() }).nullish(),
  // Nothing is charged by these, so a wrong one is no reason to refuse the count it stands in.
  completion_tokens_details: z
    .looseObject({ reasoning_tokens: count.nullish().catch(null) })
    .nullish()
    .catch(null),
});

/** Reads an engine's `usage`. Undefined where it is absent or no count at all (negative, fractional, beyond 2^31): never guessed. */
export function readEngineUsage(usage: unknown): ShownUsage | undefined {
  const result = usageSchema.safeParse(usage);
  if (!result.success) return undefined;
  const {
    prompt_tokens: promptTokens,
    completion_tokens,
    prompt_tokens_details,
    completion_tokens_details,
  } = result.data;
  const completionTokens = completion_tokens ?? 0;
  return {
    promptTokens,
    completionTokens,
    cachedPromptTokens: Math.min(prompt_tokens_details?.cached_tokens ?? 0, promptTokens),
    reasoningTokens: Math.min(completion_tokens_details?.reasoning_tokens ?? 0, completionTokens),
  };
}

/** The `usage` a client reads. Both cache counts are 0 on models that are not cache-capable (specification, Chat response fields). */
export function toUsageBody(
  { promptTokens, completionTokens, cachedPromptTokens, reasoningTokens }: ShownUsage,
  { isCacheCapable }: { isCacheCapable: boolean },
): TokenUsage {
  const cached = isCacheCapable ? cachedPromptTokens : 0;
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: isCacheCapable ? promptTokens - cached : 0,
  };
}
