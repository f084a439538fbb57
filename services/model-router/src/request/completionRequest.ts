import { completionRequestSchema } from '@turnpike/public-api/completionRequest';
import { OPERATION_PATHS } from '@turnpike/public-api/operations';
import type { JsonBody } from '@turnpike/request-reading/body/readBody';
import { invalidRequest } from '@turnpike/request-reading/faults/requestFault';
import { createFieldReader } from '@turnpike/request-reading/fields/fieldReader';
import { generatesText, toWrongOperation } from '../catalog/catalog.ts';
import { AS_WRITTEN, type InferenceRequest, NO_IMAGES, type Operation } from './inferenceRequest.ts';
import { leastTopP, readTemplateSwitch, refuseEngineControlKeys, refuseSeedBeyond64Bits } from './requestFields.ts';

/**
 * The length that engines assume when the client names none. It is sent all the same, so that the hold and the engine
 * agree.
 */
const DEFAULT_OUTPUT_TOKENS = 16;

const LIMIT_BYTES = 8 * 1_048_576;

/** POST /v1/completions. */
export const COMPLETIONS: Operation = {
  name: 'completions',
  path: OPERATION_PATHS.completions,
  clientPath: OPERATION_PATHS.completions,
  limits: { maxBytes: LIMIT_BYTES, maxTextBytes: LIMIT_BYTES },
  parse: parseCompletionRequest,
  isGenerating: true,
  prefixMembers: ['prompt'],
  isAskedByBody: false,
};

const readFields = createFieldReader(completionRequestSchema);

/** Checks a legacy completion. Throws `invalid_request`. */
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
    written: {
      prompt: parsed.prompt,
      suffix: parsed.suffix,
      chat_template_kwargs: readTemplateSwitch(body.value),
      ...leastTopP(parsed.top_p),
    },
    checkModel(model) {
      if (!generatesText(model)) throw invalidRequest('model', toWrongOperation(model, 'completions'));
    },
    formFor: () => AS_WRITTEN,
    tokenizeQuestions: () => texts.map((prompt) => ({ prompt })),
  };
}
