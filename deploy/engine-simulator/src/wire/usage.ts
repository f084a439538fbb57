import type { Knobs } from '../knobs.ts';

/** What a request has used. Cached and image tokens are part of the prompt, reasoning is part of the completion. */
export interface Usage {
  promptTokens: number;
  completionTokens: number;
  reasoningTokens: number;
  /** Undefined where the engine does not tell. */
  promptDetails: { cachedTokens: number; imageTokens: number } | undefined;
  cachedZero: Knobs['cachedZero'];
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
  const shown = Object.entries(details).filter(([, value]) => value !== null || !isStream);
  return { ...toRunningUsage(usage), ...Object.fromEntries(shown) };
}

function toPromptDetails({ promptDetails, cachedZero }: Usage): object | null {
  if (!promptDetails) return null;
  const { cachedTokens, imageTokens } = promptDetails;
  const details = {
    ...((cachedTokens > 0 || cachedZero === 'present') && { cached_tokens: cachedTokens }),
    ...(imageTokens > 0 && { multimodal_tokens: { image: imageTokens } }),
  };
  return Object.keys(details).length > 0 ? details : null;
}
