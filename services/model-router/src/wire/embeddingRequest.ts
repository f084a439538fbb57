import { z } from 'zod';
import type { InferenceRequest } from './inferenceRequest.ts';
import type { JsonBody } from './readBody.ts';
import { invalidRequest, optional, parseFields, refuseEngineControlKeys } from './requestFields.ts';

const MAX_INPUTS = 2_048;

const embeddingRequestSchema = z.looseObject({
  model: z.string().min(1, 'must name a model'),
  input: z.union(
    [z.string().min(1, 'must not be empty'), z.array(z.string().min(1, 'must not be empty')).min(1).max(MAX_INPUTS)],
    {
      error: (issue) =>
        issue.input === undefined ? 'is required' : `must be a text or a list of 1 to ${MAX_INPUTS} texts, none empty`,
    },
  ),
  // Explicit null is invalid here, and only here (specification, Embedding request).
  encoding_format: z.enum(['float', 'base64'], 'must be float or base64, or left out').optional(),
  dimensions: optional(z.number().int().min(1)),
  user: optional(z.string()),
});

/** Checks an embedding request (specification, Embedding request and response). Throws `invalid_request`. */
export function parseEmbeddingRequest(body: JsonBody): InferenceRequest {
  refuseEngineControlKeys(body.value);
  const parsed = parseFields(embeddingRequestSchema, body.value);
  const inputs = typeof parsed.input === 'string' ? [parsed.input] : parsed.input;
  return {
    operation: 'embeddings',
    model: parsed.model,
    isStream: false,
    includeUsage: false,
    isToolForced: false,
    requestedOutputTokens: 0,
    prompt: { textMembers: ['input'], templateMembers: [], parts: inputs.length, images: 0, imageBytes: 0 },
    body,
    checkModel(model) {
      if (model.category !== 'embeddings') throw invalidRequest('model', `${model.id} does not serve embeddings`);
    },
    replacedMembers: () => new Map(),
    tokenizeQuestions: () => inputs.map((prompt) => ({ prompt })),
  };
}
