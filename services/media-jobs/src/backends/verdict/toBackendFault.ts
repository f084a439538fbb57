import { BackendFault } from '../../terms/backend.ts';
import type { Begins } from '../exchange/askBackend.ts';
import type { EngineErrorText } from './readEngineError.ts';

/** Fields that are called the same by clients and engines. */
const FIELDS = new Set([
  'prompt',
  'size',
  'seconds',
  'input_reference',
  'input',
  'voice',
  'speed',
  'instructions',
  'file',
  'language',
  'temperature',
]);

/** Messages that imply a field. The patterns match at the beginning, because the rest may repeat the request. */
const FIELD_SENTENCES: [RegExp, string][] = [
  [/^(Invalid voice|Voice) '/, 'voice'],
  [/^speed must be/, 'speed'],
  [/^Requested size .* exceeds/, 'size'],
  [/^(Maximum file size exceeded|Invalid or (unsupported|corrupted) audio|Failed to decode audio|No audio )/, 'file'],
  [/^Audio (exceeds maximum allowed duration|would allocate|decode exceeded)/, 'file'],
  [/^Unsupported language: '/, 'language'],
];
/** Messages of an engine with another model than listed. No request is to blame. */
const MODEL_SENTENCES =
  /^(Model mismatch: |Unsupported model: |The model `[^`]*` does not exist|Model '[^']*' is not installed)/;
const SAFETY_SENTENCES = /safety (checker|system|filter)|content polic|moderation|nsfw|unsafe content/i;

/** Statuses with which the same request may succeed later. */
const LATER = new Set([408, 409, 425, 429, 503]);
/** Statuses of an engine that refuses our credentials. */
const REFUSES_US = new Set([401, 403]);
/** Statuses of an engine without the path, or without the model in the file. For a job they mean that there is none. */
const LACKS_MODEL = new Set([404, 405]);

/** Returns whether an engine's message is a refusal for safety. */
export const isSafetyRefusal = (message: string): boolean => SAFETY_SENTENCES.test(message);

/** Returns the client's name of the field that an engine named; undefined for any other field. */
function paramOf({ message, param }: EngineErrorText): string | undefined {
  if (param !== null && FIELDS.has(param)) return param;
  return FIELD_SENTENCES.find(([sentence]) => sentence.test(message))?.[1];
}

/** Returns the fault of an answer whose status is no success. */
export function toBackendFault(
  status: number,
  error: EngineErrorText,
  { begins, retryAfterMs }: { begins: Begins; retryAfterMs: number | undefined },
): BackendFault {
  const cause = new Error(`status ${status}`);
  if (LATER.has(status)) {
    return new BackendFault('busy', { ...(retryAfterMs !== undefined && { retryAfterMs }), cause });
  }
  const isLook = begins === 'nothing' || begins === 'content';
  if (REFUSES_US.has(status) || (!isLook && LACKS_MODEL.has(status)))
    return new BackendFault('misconfigured', { cause });
  if (isLook) return new BackendFault('unreachable', { cause });
  if (status >= 400 && status < 500) {
    if (MODEL_SENTENCES.test(error.message)) return new BackendFault('misconfigured', { cause });
    if (isSafetyRefusal(error.message)) return new BackendFault('content_refused', { cause });
    const param = paramOf(error);
    return new BackendFault('refused_request', { ...(param !== undefined && { param }), cause });
  }
  // A proxy in between may have lost the engine's answer.
  if (begins === 'job' && (status === 502 || status === 504)) return new BackendFault('answer_lost', { cause });
  return new BackendFault('failed', { cause });
}
