import type { UsageBound } from '../admission/boundUsage.ts';
import type { InferenceRequest } from '../wire/inferenceRequest.ts';
import { hashPrefix } from './hashPrefix.ts';
import type { Placement } from './placer.ts';
import { renderPrefix } from './renderPrefix.ts';

/** What placement needs to know of an admitted call. Calls of one model and one salt can share what engines have cached. */
export function toPlacement(
  request: InferenceRequest,
  { modelId, cacheSalt, bound }: { modelId: string; cacheSalt: string; bound: UsageBound },
): Placement {
  const { beginning, bytes } = renderPrefix(request);
  return {
    modelId,
    prefixHashes: hashPrefix(`${modelId} ${cacheSalt}`, beginning),
    promptBytes: bytes,
    estimatedPromptTokens: bound.estimatedPromptTokens,
    maxOutputTokens: bound.outputTokens,
    isStream: request.isStream,
  };
}
