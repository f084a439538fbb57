import type { Engine } from '../engine/engine.ts';
import { contextExceeded } from '../wire/contextExceeded.ts';
import { badRequest, type EngineError, unknownEmbeddingModel, unknownModel } from '../wire/engineError.ts';
import { type SamplingRequest, stopStrings } from '../wire/samplingFields.ts';

/** Rules of the fields that chat and completions share, held before the model is looked at. */
export function checkSharedFields({ stream, stream_options: streamOptions, cache_salt: salt }: SamplingRequest): void {
  if (streamOptions && !stream) {
    const sentence = 'Stream options can only be defined when `stream=True`. (parameter=stream_options)';
    throw badRequest(sentence, 'stream_options');
  }
  if (salt === '') {
    const sentence = "Parameter 'cache_salt' must be a non-empty string if provided. (parameter=cache_salt)";
    throw badRequest(sentence, 'cache_salt');
  }
  if (salt !== undefined && !/^[^@/\\\0]{1,128}$/.test(salt)) {
    const rule = "must be at most 128 characters and must not contain '@', '/', '\\\\', or NUL.";
    throw badRequest(`Parameter 'cache_salt' ${rule} (parameter=cache_salt)`, 'cache_salt');
  }
}

/** Throws the 404 for a name this engine does not serve. No name means the engine's model. */
export function checkModel(name: string | undefined, { config }: Engine): void {
  if (name === undefined || config.servedModelNames.includes(name)) return;
  throw config.task === 'embed' ? unknownEmbeddingModel(name) : unknownModel(name, config.servedModelNames);
}

/**
 * Returns how many tokens may be generated after a prompt of `promptTokens`: the requested number, else the rest of the
 * window. Throws by the engine's rule if that does not fit.
 */
export function resolveMaxTokens(
  requested: number | undefined,
  promptTokens: number,
  { config: { maxModelLen }, knobs: { windowRule } }: Engine,
): number {
  if (requested !== undefined && requested > maxModelLen) {
    throw badRequest(
      `max_tokens=${requested} cannot be greater than max_model_len=${maxModelLen}. Please request fewer output tokens. (parameter=max_tokens, value=${requested})`,
      'max_tokens',
    );
  }
  const maxTokens = windowRule === 'total' ? Math.max(requested ?? 0, 0) : 0;
  if (promptTokens + maxTokens > maxModelLen)
    throw contextExceeded({ maxModelLen, promptTokens, maxTokens }, windowRule);
  return Math.min(requested ?? maxModelLen, maxModelLen - promptTokens);
}

/** Ranges of the sampling parameters; they are looked at last, when the prompt is known to fit. */
export function checkSampling(request: SamplingRequest, maxTokens: number): void {
  const { temperature = 1, top_p: topP = 1, n = 1, min_tokens: minTokens = 0 } = request;
  if (n !== 1) throw badRequest(`n must be 1 on this engine, got ${n}.`);
  for (const name of ['presence_penalty', 'frequency_penalty'] as const) {
    const value = request[name] ?? 0;
    if (value < -2 || value > 2) throw badRequest(`${name} must be in [-2, 2], got ${toFloat(value)}.`);
  }
  if (temperature < 0) throw outOfRange('temperature', 'must be non-negative', toFloat(temperature));
  if (temperature > 2) throw outOfRange('temperature', 'must be in [0, 2]', toFloat(temperature));
  if (topP <= 0 || topP > 1) throw outOfRange('top_p', 'must be in (0, 1]', toFloat(topP));
  if (maxTokens < 1) throw outOfRange('max_tokens', 'must be at least 1', String(maxTokens));
  if (minTokens < 0) throw badRequest(`min_tokens must be greater than or equal to 0, got ${minTokens}.`);
  if (minTokens > maxTokens) {
    throw badRequest(`min_tokens must be less than or equal to max_tokens=${maxTokens}, got ${minTokens}.`);
  }
  if (stopStrings(request).includes('')) throw badRequest('stop cannot contain an empty string.');
}

const outOfRange = (param: string, rule: string, value: string): EngineError =>
  badRequest(`${param} ${rule}, got ${value}. (parameter=${param}, value=${value})`, param);

/** Formats a number as Python prints a float. */
const toFloat = (value: number): string => (Number.isInteger(value) ? `${value}.0` : String(value));
