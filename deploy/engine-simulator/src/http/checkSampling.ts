import type { Engine } from '../engine/engine.ts';
import { contextExceeded } from '../wire/contextExceeded.ts';
import { badRequest, malformedRequest } from '../wire/engineError.ts';
import type { SamplingRequest } from '../wire/samplingFields.ts';

const MAX_SEQUENCES = 16_384;

/** Rules of the fields that chat and completions share. They answer like schema violations, before the model is looked at. */
export function checkSharedFields({ stream, stream_options: streamOptions, cache_salt: salt }: SamplingRequest): void {
  if (streamOptions && !stream) {
    const sentence = 'Stream options can only be defined when `stream=True`. (parameter=stream_options)';
    throw malformedRequest(sentence, 'stream_options');
  }
  // New engines take a salt of 1 to 128 characters that cannot be mistaken for a path.
  if (salt !== undefined && !/^[^@/\\\0]{1,128}$/.test(salt)) {
    const sentence = '`cache_salt` must be 1 to 128 characters, none of `@`, `/`, `\\` or NUL. (parameter=cache_salt)';
    throw malformedRequest(sentence, 'cache_salt');
  }
}

/**
 * How many tokens may be generated after a prompt of `promptTokens`: what was asked for, else what is left of the window.
 * Throws when prompt and request together are longer than the window.
 */
export function resolveMaxTokens(
  requested: number | undefined,
  promptTokens: number,
  { config: { maxModelLen }, knobs }: Engine,
): number {
  if (requested !== undefined && requested > maxModelLen) {
    throw badRequest(
      `max_tokens=${requested} cannot be greater than max_model_len=${maxModelLen}. Please request fewer output tokens. (parameter=max_tokens, value=${requested})`,
      'max_tokens',
    );
  }
  const maxTokens = Math.max(requested ?? 0, 0);
  if (promptTokens + maxTokens > maxModelLen) {
    throw contextExceeded({ maxModelLen, promptTokens, maxTokens }, knobs.contextSentence);
  }
  return requested ?? maxModelLen - promptTokens;
}

/** Ranges of the sampling parameters; they are looked at last, when the prompt is known to fit. */
export function checkSampling(request: SamplingRequest, maxTokens: number): void {
  const { temperature = 1, top_p: topP = 1, n = 1, min_tokens: minTokens = 0 } = request;
  if (n < 1) throw badRequest(`n must be at least 1, got ${n}.`);
  if (n > MAX_SEQUENCES) throw badRequest(`n must be at most ${MAX_SEQUENCES}, got ${n}.`);
  for (const name of ['presence_penalty', 'frequency_penalty'] as const) {
    const value = request[name] ?? 0;
    if (value < -2 || value > 2) throw badRequest(`${name} must be in [-2, 2], got ${value}.`);
  }
  if (temperature < 0) throw badRequest(`temperature must be non-negative, got ${temperature}.`, 'temperature');
  if (topP <= 0 || topP > 1) throw badRequest(`top_p must be in (0, 1], got ${topP}.`, 'top_p');
  if (maxTokens < 1) throw badRequest(`max_tokens must be at least 1, got ${maxTokens}.`, 'max_tokens');
  if (minTokens < 0) throw badRequest(`min_tokens must be greater than or equal to 0, got ${minTokens}.`);
  if (minTokens > maxTokens) {
    throw badRequest(`min_tokens must be less than or equal to max_tokens=${maxTokens}, got ${minTokens}.`);
  }
  if (stopStrings(request).includes('')) throw badRequest('stop cannot contain an empty string.');
  if (temperature === 0 && n > 1) throw badRequest(`n must be 1 when using greedy sampling, got ${n}.`);
}

export const stopStrings = ({ stop = [] }: SamplingRequest): string[] => (typeof stop === 'string' ? [stop] : stop);
