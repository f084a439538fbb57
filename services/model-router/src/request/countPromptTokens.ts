import type { SlotOwner } from '@turnpike/request-reading/shares/fairSlots';
import type { PricedModel } from '../catalog/catalog.ts';
import type { InferenceRequest } from './inferenceRequest.ts';

/**
 * The engine's count of the prompt, or undefined when no engine gives one in time. It is exact but for images that have not been
 * fetched, which are counted at the model's most. Throws `key_bound_reached` when the workspace has too many prompts being
 * counted for this one to have its turn, `overloaded` when all others have.
 */
export type CountPromptTokens = (
  request: InferenceRequest,
  model: PricedModel,
  owner: SlotOwner,
) => Promise<number | undefined>;
