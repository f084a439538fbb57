import type { EngineFault } from '../../api/inferenceFault.ts';
import type { EngineCallFields } from '../terms/dialect.ts';
import { parseEngineJson } from '../terms/engineJson.ts';

const CONTEXT_SENTENCES = [
  'maximum context length',
  'context length is only',
  'maximum model length',
  'cannot be greater than max_model_len',
  // No call requests 0 tokens. A recent engine cuts the request to 0 if the prompt fills the window exactly.
  'max_tokens must be at least 1, got 0',
];
/** Parts of engines' messages about an image that they cannot decode. Newer engines also name it as the parameter. */
const IMAGE_SENTENCES = ['cannot identify image file', 'image file is truncated', 'base64 data URLs'];
const MAX_MESSAGE_LENGTH = 1_000;
/** Length of an engine's text that is searched. */
const MAX_READ_LENGTH = 8_000;

interface EngineErrorBody {
  message: string;
  param: string | null;
}

/** Fields that the router alone writes into bodies. Some engines quote a body in a refusal. */
const OWN_FIELD = '(?:cache_salt|stream_options|continuous_usage_stats)';
const QUOTE = String.raw`\\*["'\`]`;
const VALUE = String.raw`(?:\{[^{}]*\}|${QUOTE}[^"'\`\\]*${QUOTE}|[^\s,{}\])]*)`;
const OWN_MEMBER = new RegExp(
  String.raw`(?:,\s*)?(?:${QUOTE})?\b${OWN_FIELD}\b(?:${QUOTE})?(?:\s*[:=]\s*${VALUE})?`,
  'g',
);
const OWN_PARAM = new RegExp(String.raw`^${OWN_FIELD}\b`);

/** The sentence and parameter of an engine's error body, nested or flat, old or new. */
function readErrorBody(bytes: Buffer): EngineErrorBody {
  const body = parseEngineJson(bytes);
  const error =
    typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'object' ? body.error : body;
  if (typeof error !== 'object' || error === null) return { message: '', param: null };
  const { message, param } = error as Record<string, unknown>;
  return {
    message: typeof message === 'string' ? message.slice(0, MAX_READ_LENGTH) : '',
    param: typeof param === 'string' && param !== '' ? param.replace(/^body\./, '') : null,
  };
}

/**
 * Returns the meaning of an engine's refusal for the client. Only 400, 422 and 501 are the client's mistake. A 401, 403 or 404 is
 * a fault of the fleet, and the text of an engine's own failure is never shown. An unusable image is one fault everywhere,
 * without the engine's words. Fields that the router wrote are cut out, and an engine that refuses one of them has failed.
 */
export function toEngineFault(
  status: number,
  body: Buffer,
  { cacheSalt }: Pick<EngineCallFields, 'cacheSalt'>,
): EngineFault {
  const { message: given, param } = readErrorBody(body);
  if (param !== null && OWN_PARAM.test(param)) return { kind: 'engine_failed' };
  const message = given.replaceAll(OWN_MEMBER, '').replaceAll(cacheSalt, '').slice(0, MAX_MESSAGE_LENGTH);
  if (status === 400 && CONTEXT_SENTENCES.some((sentence) => message.includes(sentence)))
    return { kind: 'context_too_long', message };
  if (status === 400 || status === 422 || status === 501) {
    if (param === 'image_url' || IMAGE_SENTENCES.some((sentence) => message.includes(sentence)))
      return { kind: 'image_unusable' };
    return {
      kind: 'engine_refused',
      message: message === '' ? 'The model cannot serve this request.' : message,
      param,
    };
  }
  if (status === 429 || status === 503) return { kind: 'engine_busy' };
  return { kind: 'engine_failed' };
}
