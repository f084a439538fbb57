import { chatRequestSchema } from '@turnpike/public-api/chatRequest';
import { completionRequestSchema } from '@turnpike/public-api/completionRequest';
import { embeddingRequestSchema } from '@turnpike/public-api/embeddingRequest';
import { ENGINE_CONTROL_KEYS } from '@turnpike/public-api/requestFields';
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
