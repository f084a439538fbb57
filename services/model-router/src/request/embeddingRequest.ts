import { embeddingRequestSchema } from '@turnpike/public-api/embeddingRequest';
import { OPERATION_PATHS } from '@turnpike/public-api/operations';
import type { JsonBody } from '@turnpike/request-reading/body/readBody';
import { invalidRequest } from '@turnpike/request-reading/faults/requestFault';
import { createFieldReader } from '@turnpike/request-reading/fields/fieldReader';
import type { PricedModel } from '../catalog/catalog.ts';
import { toWrongOperation } from '../catalog/catalog.ts';
import { AS_WRITTEN, type InferenceRequest, NO_IMAGES, type Operation, type RequestForm } from './inferenceRequest.ts';
import { readTemplateSwitch, refuseEngineControlKeys } from './requestFields.ts';

const LIMIT_BYTES = 8 * 1_048_576;

/** POST /v1/embeddings. Each text has the model's window for itself, and no prefix worth finding again. */
export const EMBEDDINGS: Operation = {
  name: 'embeddings',
  path: OPERATION_PATHS.embeddings,
  clientPath: OPERATION_PATHS.embeddings,
  limits: { maxBytes: LIMIT_BYTES, maxTextBytes: LIMIT_BYTES },
  parse: parseEmbeddingRequest,
  isGenerating: false,
  prefixMembers: [],
  isAskedByBody: false,
};

const readFields = createFieldReader(embeddingRequestSchema);

/** Checks an embedding request. Throws `invalid_request`. */
export function parseEmbeddingRequest(body: JsonBody): InferenceRequest {
  refuseEngineControlKeys(body.value);
  refuseTokenIds(body.value.input);
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
    written: {
      input: parsed.input,
      dimensions: parsed.dimensions,
      chat_template_kwargs: readTemplateSwitch(body.value),
    },
    checkModel(model) {
      if (model.category !== 'embeddings') throw invalidRequest('model', toWrongOperation(model, 'embeddings'));
      const { dimensions } = parsed;
      const own = findOnlyLength(model);
      if (dimensions !== undefined && own !== undefined && dimensions !== own)
        throw invalidRequest(
          'dimensions',
          `dimensions must be ${own}, the length of the vectors of ${model.id}, or left out`,
        );
    },
    formFor: (model) => (findOnlyLength(model) === undefined ? AS_WRITTEN : LENGTH_LEFT_OUT),
    tokenizeQuestions: () => inputs.map((prompt) => ({ prompt })),
  };
}

/** Engines refuse even the only length that such a model has. */
const LENGTH_LEFT_OUT: RequestForm = { replaced: new Map([['dimensions', undefined]]) };

/** The length of a model's vectors where the model has no other; undefined where engines decide. */
const findOnlyLength = ({ embeddingDimensions, supportedParameters }: PricedModel): number | undefined =>
  supportedParameters.includes('dimensions') ? undefined : embeddingDimensions;

/** Throws `invalid_request` for token ids, before their number is looked at: a text may be more tokens than a list may have texts. */
function refuseTokenIds(input: unknown): void {
  if (Array.isArray(input) && input.some((each) => typeof each === 'number' || Array.isArray(each)))
    throw invalidRequest(
      'input',
      'input holds token ids, and only texts are taken (LangChain: check_embedding_ctx_length=False)',
    );
}
