import type { Generation } from '../engine/generation.ts';
import type { Usage } from '../wire/usage.ts';
import type { EngineContext } from './engineContext.ts';

/** What a request has used so far. */
export function usageOf(
  { entry, sequences }: Generation,
  { engine }: EngineContext,
  { imageTokens, createdCacheTokens }: { imageTokens: number; createdCacheTokens: number | null },
): Usage {
  const { enablePromptTokensDetails, cachedZero } = engine.knobs;
  return {
    promptTokens: entry.promptTokens,
    completionTokens: entry.completionTokens,
    reasoningTokens: sequences.reduce((sum, sequence) => sum + sequence.reasoningTokens, 0),
    promptDetails: enablePromptTokensDetails
      ? { cachedTokens: entry.cachedTokens, createdCacheTokens, imageTokens }
      : undefined,
    cachedZero,
  };
}
