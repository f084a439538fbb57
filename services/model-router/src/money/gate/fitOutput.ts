import { ApiError } from '@turnpike/public-api/apiError';
import type { PricedModel } from '../../catalog/catalog.ts';
import type { CountPromptTokens } from '../../request/countPromptTokens.ts';
import type { InferenceRequest } from '../../request/inferenceRequest.ts';
import type { SlotOwner } from '../../request/shares/fairSlots.ts';
import { boundUsage, needsExactPrompt, type UsageBound } from './boundUsage.ts';

/**
 * The bound of an admitted call with as much output as fits the window beside its prompt, which an engine counts where the bytes
 * cannot tell. What is held stays as it was taken: it is above what the call can cost within the window, however long its prompt
 * is. Where nobody counts in time, or the key has its part of counts under way, the bytes decide.
 */
export async function fitOutput(
  countPromptTokens: CountPromptTokens,
  {
    request,
    model,
    owner,
    bound,
  }: { request: InferenceRequest; model: PricedModel; owner: SlotOwner; bound: UsageBound },
): Promise<UsageBound> {
  if (bound.isCounted || !needsExactPrompt(request, model)) return bound;
  try {
    const exact = await countPromptTokens(request, model, owner);
    if (exact === undefined) return bound;
    return { ...boundUsage(request, model, exact), worstCaseNanoUsd: bound.worstCaseNanoUsd };
  } catch (error) {
    if (error instanceof ApiError) return bound;
    throw error;
  }
}
