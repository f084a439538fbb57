import { chatRequestSchema } from '../../../services/model-router/src/request/chatRequest.ts';
import { completionRequestSchema } from '../../../services/model-router/src/request/completionRequest.ts';
import { embeddingRequestSchema } from '../../../services/model-router/src/request/embeddingRequest.ts';
import { ENGINE_CONTROL_KEYS } from '../../../services/model-router/src/request/requestFields.ts';
import type { RequestOperation } from './engineModels.ts';

/** Everything of the router that the judgements are held against. */
export const routerLists = {
  /** Keys that are 400 in any request. */
  refused: [...ENGINE_CONTROL_KEYS],
  /** The keys that a request's schema knows, and those that are checked before it. */
  checked: {
    chat: [...Object.keys(chatRequestSchema.shape), 'chat_template_kwargs'],
    completions: [...Object.keys(completionRequestSchema.shape), 'chat_template_kwargs'],
    embeddings: [...Object.keys(embeddingRequestSchema.shape), 'chat_template_kwargs'],
  } satisfies Record<RequestOperation, string[]>,
};
