import type { Knobs } from '../knobs.ts';

/** What a request has used. Cached and image tokens are part of the prompt, reasoning is part of the completion. */
export interface Usage {
  promptTokens: number;
  completionTokens: number;
  reasoningTokens: number;
  /** Undefined where the engine does not tell. */
  promptDetails: PromptDetails | undefined;
  cachedZero: Knobs['cachedZero'];
}

interface PromptDetails {
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
  const details = {
    prompt_tokens_details: toPromptDetails(usage),
    completion_tokens_details: usage.reasoningTokens > 0 ? { reasoning_tokens: usage.reasoningTokens } : null,
  };
  return { ...toRunningUsage(usage), ...(isStream ? withoutNulls(details) : details) };
}

/** As a stream is written: nulls are left out, also those of the details. */
const withoutNulls = (fields: object): object =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== null)
      .map(([name, value]) => [name, typeof value === 'object' ? withoutNulls(value) : value]),
  );

function toPromptDetails({ promptDetails, cachedZero }: Usage): object | null {
  if (!promptDetails) return null;
  const { cachedTokens, createdCacheTokens, imageTokens } = promptDetails;
  if (cachedZero === 'absent') return cachedTokens > 0 ? { cached_tokens: cachedTokens } : null;
  return {
    cached_tokens: cachedTokens,
    created_cache_tokens: createdCacheTokens,
    multimodal_tokens: imageTokens > 0 ? { image: imageTokens } : null,
  };
}
