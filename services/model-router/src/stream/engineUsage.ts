import { z } from 'zod';

/** What the engine counted for one call so far. */
export interface EngineUsage {
  promptTokens: number;
  completionTokens: number;
  /** Part of the prompt read from the prefix cache; an engine that does not say counts as none. */
  cachedPromptTokens: number;
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
});

/** Reads an engine's `usage`. Undefined where it is absent or no count at all (negative, fractional, beyond 2^31): never guessed. */
export function readEngineUsage(usage: unknown): EngineUsage | undefined {
  const result = usageSchema.safeParse(usage);
  if (!result.success) return undefined;
  const {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    prompt_tokens_details: details,
  } = result.data;
  return {
    promptTokens,
    completionTokens: completionTokens ?? 0,
    cachedPromptTokens: Math.min(details?.cached_tokens ?? 0, promptTokens),
  };
}

/** The `usage` a client reads. Both cache counts are 0 on models that are not cache-capable (specification, Chat response fields). */
export function toUsageBody(
  { promptTokens, completionTokens, cachedPromptTokens }: EngineUsage,
  { isCacheCapable }: { isCacheCapable: boolean },
): object {
  const cached = isCacheCapable ? cachedPromptTokens : 0;
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cached },
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: isCacheCapable ? promptTokens - cached : 0,
  };
}
