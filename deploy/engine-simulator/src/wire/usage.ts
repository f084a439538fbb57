/** The usage of one request. Cached and image tokens are part of the prompt, reasoning is part of the completion. */
export interface Usage {
  promptTokens: number;
  completionTokens: number;
  reasoningTokens: number;
  cachedTokens: number;
  /** Tokens that this prompt put into the prefix cache; null where they are not counted, as in a completion. */
  createdCacheTokens: number | null;
  imageTokens: number;
}

/** The running count that `continuous_usage_stats` puts on every chunk. */
export const toRunningUsage = ({
  promptTokens,
  completionTokens,
}: Pick<Usage, 'promptTokens' | 'completionTokens'>) => ({
  prompt_tokens: promptTokens,
  total_tokens: promptTokens + completionTokens,
  completion_tokens: completionTokens,
});

/** The usage at the end of an answer. Details there are none of are null in a whole answer; a stream drops nulls. */
export function toFinalUsage(usage: Usage, { isStream }: { isStream: boolean }): object {
  const { cachedTokens, createdCacheTokens, imageTokens, reasoningTokens } = usage;
  const details = {
    prompt_tokens_details: {
      cached_tokens: cachedTokens,
      created_cache_tokens: createdCacheTokens,
      multimodal_tokens: imageTokens > 0 ? { image: imageTokens } : null,
    },
    completion_tokens_details: reasoningTokens > 0 ? { reasoning_tokens: reasoningTokens } : null,
  };
  return { ...toRunningUsage(usage), ...(isStream ? withoutNulls(details) : details) };
}

/** Removes nulls, also those of the details, for a stream. */
const withoutNulls = (fields: object): object =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== null)
      .map(([name, value]) => [name, typeof value === 'object' ? withoutNulls(value) : value]),
  );
