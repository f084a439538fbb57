import { embeddingRequestSchema } from '@turnpike/public-api/embeddingRequest';
import { OPERATION_PATHS } from '@turnpike/public-api/operations';
import type { JsonBody } from '@turnpike/request-reading/body/readBody';
import { invalidRequest } from '@turnpike/request-reading/faults/requestFault';
import { createFieldReader } from '@turnpike/request-reading/fields/fieldReader';
import { type InferenceRequest, NO_IMAGES, type Operation } from './inferenceRequest.ts';
import { readTemplateSwitch, refuseEngineControlKeys } from './requestFields.ts';

const LIMIT_BYTES = 8 * 1_048_576;

/** POST /v1/embeddings. Each text has the model's window for itself, and no prefix worth finding again. */
export const EMBEDDINGS: Operation = {
  name: 'embeddings',
  path: OPERATION_PATHS.embeddings,
  limits: { maxBytes: LIMIT_BYTES, maxTextBytes: LIMIT_BYTES },
  parse: parseEmbeddingRequest,
  isGenerating: false,
  prefixMembers: [],
  isAskedByBody: false,
};

const readFields = createFieldReader(embeddingRequestSchema);

/** Checks an embedding request (specification, Embedding request and response). Throws `invalid_request`. */
export function parseEmbeddingRequest(body: JsonBody): InferenceRequest {
  refuseEngineControlKeys(body.value);
  const parsed = readFields(body.value);
  const inputs = typeof parsed.input === 'string' ? [parsed.input] : parsed.input;
  return {
    operation: EMBEDDINGS,
    model: parsed.model,
    isStream: false,
    includeUsage: false,
    isToolForced: false,
    requestedOutputTokens: 0,
    prompt: { textMembers: ['input'], templateMembers: [], parts: inputs.length, images: 0, imageBytes: 0 },
    images: NO_IMAGES,
    body,
    written: { input: parsed.input, chat_template_kwargs: readTemplateSwitch(body.value) },
    checkModel(model) {
      if (model.category !== 'embeddings') throw invalidRequest('model', `${model.id} does not serve embeddings`);
    },
    replacedMembers: () => new Map(),
    fallbackOn: () => undefined,
    tokenizeQuestions: () => inputs.map((prompt) => ({ prompt })),
  };
}
