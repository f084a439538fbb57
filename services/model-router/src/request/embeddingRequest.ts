import { OPERATION_PATHS } from '@turnpike/public-api/operations';
import { z } from 'zod';
import { invalidRequest } from '../api/requestFault.ts';
import { createFieldReader, optional } from './fieldReader.ts';
import { type InferenceRequest, NO_IMAGES, type Operation } from './inferenceRequest.ts';
import type { JsonBody } from './readBody.ts';
import { readTemplateSwitch, refuseEngineControlKeys } from './requestFields.ts';

const MAX_INPUTS = 2_048;

export const embeddingRequestSchema = z
  .looseObject({
    model: z
      .string()
      .min(1, 'must name a model')
      .meta({ description: 'Id or alias of a model of category `embeddings`.' }),
    input: z
      .union([z.string().min(1), z.array(z.string().min(1)).min(1).max(MAX_INPUTS)], {
        error: (issue) =>
          issue.input === undefined
            ? 'is required'
            : `must be a text or a list of 1 to ${MAX_INPUTS} texts, none empty`,
      })
      .meta({
        description: 'The text to embed, or a list of texts.',
        support: 'partial',
        note: 'Texts; token ids are 400.',
      }),
    // Engines take a conversation in place of the input, and would fetch the images in it.
    messages: optional(z.never('is not supported: send texts as input')).meta({
      description: 'Not supported.',
      support: 'no',
      note: '400.',
    }),
    // Explicit null is invalid here, and only here (specification, Embedding request).
    encoding_format: z.enum(['float', 'base64'], 'must be float or base64, or left out').optional().meta({
      description: '`float` unless given: a list of numbers. `base64`: packed little-endian 32-bit floats. Never null.',
      note: 'Explicit null is 400.',
    }),
    dimensions: optional(z.number().int().min(1)).meta({
      description: 'Length of the vectors, on models that can shorten them.',
      support: 'partial',
      note: 'Where the model can.',
    }),
    user: optional(z.string()).meta({
      description: 'The end user’s id at the client.',
      note: 'Taken, and not passed to engines.',
    }),
  })
  .meta({
    title: 'Embedding request',
    description:
      'Texts to embed. Fields that are not listed go to the serving engine, which takes, ignores or refuses them.',
  });

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
