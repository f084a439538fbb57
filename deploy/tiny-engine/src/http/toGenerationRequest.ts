import { randomInt } from 'node:crypto';
import type { Token } from 'node-llama-cpp';
import type { JsonConstraint, JsonSchema } from '../inference/createJsonConstraint.ts';
import { findUnsupportedKeyword } from '../inference/findUnsupportedKeyword.ts';
import type { GenerationRequest } from '../inference/generation.ts';
import type { TinyEngine } from '../inference/tinyEngine.ts';
import { MAX_MODEL_LEN } from '../model/tinyModel.ts';
import { badRequest, contextExceeded, malformedRequest } from '../wire/engineError.ts';
import type { SamplingRequest } from '../wire/requests.ts';

/**
 * What the engine is to do for a request with this prompt, once everything in it is known to be possible. Without
 * `maxTokens` the answer may fill the window. Throws an `EngineError` otherwise.
 */
export async function toGenerationRequest(
  request: SamplingRequest,
  {
    promptTokens,
    maxTokens: requested,
    engine,
  }: { promptTokens: Token[]; maxTokens: number | undefined; engine: TinyEngine },
): Promise<GenerationRequest> {
  const { temperature = 1, top_p: topP = 1, n = 1, stop = [], seed = randomInt(2 ** 32) } = request;
  if (request.stream_options && !request.stream) {
    throw malformedRequest('Stream options can only be defined when `stream=True`.', 'stream_options');
  }
  if (n !== 1) throw badRequest(`n must be 1 on this engine, got ${n}.`, 'n');
  if (temperature < 0) throw badRequest(`temperature must be non-negative, got ${temperature}.`, 'temperature');
  if (topP <= 0 || topP > 1) throw badRequest(`top_p must be in (0, 1], got ${topP}.`, 'top_p');
  if (stop.includes('')) throw badRequest('stop cannot contain an empty string.', 'stop');

  const maxTokens = requested ?? Math.max(1, MAX_MODEL_LEN - promptTokens.length);
  if (maxTokens < 1) throw badRequest(`max_tokens must be at least 1, got ${maxTokens}.`, 'max_tokens');
  if (promptTokens.length + maxTokens > MAX_MODEL_LEN) {
    throw contextExceeded({ window: MAX_MODEL_LEN, promptTokens: promptTokens.length, outputTokens: requested ?? 0 });
  }
  return {
    promptTokens,
    maxTokens,
    temperature,
    topP,
    seed: Number(BigInt.asUintN(32, BigInt(seed))),
    stop,
    ignoresEnd: request.ignore_eos === true,
    json: await toJsonConstraint(request, engine),
    cacheSalt: request.cache_salt ?? '',
  };
}

async function toJsonConstraint(
  { response_format: format }: SamplingRequest,
  engine: TinyEngine,
): Promise<JsonConstraint | undefined> {
  switch (format?.type) {
    case 'json_object':
      return engine.constrain({ kind: 'object' });
    case 'json_schema': {
      const keyword = findUnsupportedKeyword(format.json_schema.schema);
      if (keyword !== undefined)
        throw badRequest(`This engine does not enforce \`${keyword}\` in a JSON schema.`, 'response_format');
      try {
        return await engine.constrain({ kind: 'schema', schema: format.json_schema.schema as JsonSchema });
      } catch {
        throw badRequest('This JSON schema cannot be turned into a grammar.', 'response_format');
      }
    }
    default:
      return undefined;
  }
}
