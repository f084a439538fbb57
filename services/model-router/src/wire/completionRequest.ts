import { z } from 'zod';
import { generatesText } from '../catalog/catalog.ts';
import type { InferenceRequest } from './inferenceRequest.ts';
import type { JsonBody } from './readBody.ts';
import { generationFields, invalidRequest, optional, parseFields, refuseEngineControlKeys } from './requestFields.ts';

/** What engines assume where nothing is asked for; it is sent all the same, so that the hold and the engine agree. */
const DEFAULT_OUTPUT_TOKENS = 16;

const completionRequestSchema = z.looseObject({
  ...generationFields,
  prompt: z.string('must be one text').min(1, 'must not be empty'),
  logprobs: optional(z.never('logprobs are not supported')),
  suffix: optional(z.never('suffix is not supported')),
});

/** Checks a legacy completion (specification, Legacy completion request). Throws `invalid_request`. */
export function parseCompletionRequest(body: JsonBody): InferenceRequest {
  refuseEngineControlKeys(body.value);
  const parsed = parseFields(completionRequestSchema, body.value);
  const isStream = parsed.stream ?? false;
  if (parsed.stream_options && !isStream)
    throw invalidRequest('stream_options', 'stream_options is allowed only when stream is true');
  return {
    operation: 'completions',
    model: parsed.model,
    isStream,
    includeUsage: parsed.stream_options?.include_usage ?? false,
    isToolForced: false,
    requestedOutputTokens: parsed.max_completion_tokens ?? parsed.max_tokens ?? DEFAULT_OUTPUT_TOKENS,
    prompt: { textMembers: ['prompt'], templateMembers: [], parts: 1, images: 0, imageBytes: 0 },
    body,
    checkModel(model) {
      if (!generatesText(model)) throw invalidRequest('model', `${model.id} does not serve completions`);
    },
    replacedMembers: () => new Map(),
    tokenizeQuestions: () => [{ prompt: parsed.prompt }],
  };
}
