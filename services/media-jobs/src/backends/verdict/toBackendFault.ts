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

/** Sentences that name a field without saying so. They stand at the beginning, as the rest may repeat the request. */
const FIELD_SENTENCES: [RegExp, string][] = [
  [/^(Invalid voice|Voice) '/, 'voice'],
  [/^speed must be/, 'speed'],
  [/^Requested size .* exceeds/, 'size'],
  [/^(Maximum file size exceeded|Invalid or (unsupported|corrupted) audio|Failed to decode audio|No audio )/, 'file'],
  [/^Audio (exceeds maximum allowed duration|would allocate|decode exceeded)/, 'file'],
  [/^Unsupported language: '/, 'language'],
];
/** An engine that has another model than it was listed for: nobody's request is to blame. */
const MODEL_SENTENCES =
  /^(Model mismatch: |Unsupported model: |The model `[^`]*` does not exist|Model '[^']*' is not installed)/;
const SAFETY_SENTENCES = /safety (checker|system|filter)|content polic|moderation|nsfw|unsafe content/i;

/** Another time the same request may do. */
const LATER = new Set([408, 409, 425, 429, 503]);
/** It does not know us. */
const REFUSES_US = new Set([401, 403]);
/** It does not know the path, or the model that it was listed for. Of a job it only says that there is none. */
const LACKS_MODEL = new Set([404, 405]);

/** Whether an engine's sentence says that it will not make what was asked for. */
export const isSafetyRefusal = (message: string): boolean => SAFETY_SENTENCES.test(message);

/** What the field that an engine named is called by clients; undefined where it is none of theirs. */
function paramOf({ message, param }: EngineErrorText): string | undefined {
  if (param !== null && FIELDS.has(param)) return param;
  return FIELD_SENTENCES.find(([sentence]) => sentence.test(message))?.[1];
}

/** What an answer with a status that is no success means for the one who asked. */
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
  // What stands between may have lost an answer that the engine gave.
  if (begins === 'job' && (status === 502 || status === 504)) return new BackendFault('answer_lost', { cause });
  return new BackendFault('failed', { cause });
}
