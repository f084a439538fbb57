import { OPERATION_PATHS } from '@turnpike/public-api/operations';
import { z } from 'zod';
import { invalidRequest } from '../api/requestFault.ts';
import { generatesText } from '../catalog/catalog.ts';
import { createFieldReader, optional } from './fieldReader.ts';
import { type InferenceRequest, NO_IMAGES, type Operation } from './inferenceRequest.ts';
import type { JsonBody } from './readBody.ts';
import {
  generationFields,
  readTemplateSwitch,
  refuseEngineControlKeys,
  refuseSeedBeyond64Bits,
} from './requestFields.ts';

/**
 * The length that engines assume when the client names none. It is sent all the same, so that the hold and the engine
 * agree.
 */
const DEFAULT_OUTPUT_TOKENS = 16;

export const completionRequestSchema = z
  .looseObject({
    ...generationFields,
    prompt: z
      .string({ error: ({ input }) => (input === undefined ? 'is required' : 'must be one text') })
      .min(1, 'must not be empty')
      .meta({
        description: 'The text to go on from.',
        support: 'partial',
        note: 'One text; lists and token ids are 400.',
      }),
    // Prompt too, for the engines that take it.
    suffix: optional(z.string()).meta({
      description: 'What shall come after the answer, on models that fill in.',
      support: 'partial',
      note: 'On engines that take it.',
    }),
    // Engines read it here as well; its forms are checked on chat alone.
    response_format: optional(z.never('is not supported here: use chat completions')).meta({
      description: 'Not supported here.',
      support: 'no',
      note: '400; chat completions have it.',
    }),
  })
  .meta({
    title: 'Text completion request',
    description:
      'Legacy: chat is preferred. Fields that are not listed go to the serving engine, which takes, ignores or refuses them.',
  });

const LIMIT_BYTES = 8 * 1_048_576;

/** POST /v1/completions. */
export const COMPLETIONS: Operation = {
  name: 'completions',
  path: OPERATION_PATHS.completions,
  limits: { maxBytes: LIMIT_BYTES, maxTextBytes: LIMIT_BYTES },
  parse: parseCompletionRequest,
  isGenerating: true,
  prefixMembers: ['prompt'],
  isAskedByBody: false,
};

const readFields = createFieldReader(completionRequestSchema);

/** Checks a legacy completion (specification, Legacy completion request). Throws `invalid_request`. */
export function parseCompletionRequest(body: JsonBody): InferenceRequest {
  refuseEngineControlKeys(body.value);
  const parsed = readFields(body.value);
  refuseSeedBeyond64Bits(body);
  const isStream = parsed.stream ?? false;
  if (parsed.stream_options && !isStream)
    throw invalidRequest('stream_options', 'stream_options is allowed only when stream is true');
  const texts = [parsed.prompt, parsed.suffix].filter((text) => text !== undefined);
  return {
    operation: COMPLETIONS,
    model: parsed.model,
    isStream,
    includeUsage: parsed.stream_options?.include_usage ?? false,
    isToolForced: false,
    requestedOutputTokens: parsed.max_completion_tokens ?? parsed.max_tokens ?? DEFAULT_OUTPUT_TOKENS,
    prompt: { textMembers: ['prompt', 'suffix'], templateMembers: [], parts: texts.length, images: 0, imageBytes: 0 },
    images: NO_IMAGES,
    body,
    written: { prompt: parsed.prompt, suffix: parsed.suffix, chat_template_kwargs: readTemplateSwitch(body.value) },
    checkModel(model) {
      if (!generatesText(model)) throw invalidRequest('model', `${model.id} does not serve completions`);
    },
    replacedMembers: () => new Map(),
    fallbackOn: () => undefined,
    tokenizeQuestions: () => texts.map((prompt) => ({ prompt })),
  };
}
