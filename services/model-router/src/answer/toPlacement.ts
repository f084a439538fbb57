import { hashPrefix } from '../fleet/placement/hashPrefix.ts';
import type { Placement } from '../fleet/placement/placer.ts';
import { renderPrefix } from '../fleet/placement/renderPrefix.ts';
import type { UsageBound } from '../money/gate/boundUsage.ts';
import type { InferenceRequest } from '../request/inferenceRequest.ts';

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
