import { parseJson } from '../exchange/readText.ts';

/** Message of an engine. It is never shown, because engines repeat the request. */
export interface EngineErrorText {
  message: string;
  param: string | null;
}

const MAX_MESSAGE_CHARACTERS = 1_000;

/**
 * Reads the message and the field of an engine's error. Knows FastAPI's `detail` (text, list or object), vLLM's
 * envelope and TensorRT-LLM's flat form.
 */
export function readEngineError(text: string): EngineErrorText {
  const body = membersOf(parseJson(text));
  const { detail } = body;
  if (Array.isArray(detail)) {
    const { msg, loc } = membersOf(detail[0]);
    return { message: textOf(msg), param: nameOf(Array.isArray(loc) ? loc.at(-1) : undefined) };
  }
  if (typeof detail === 'string') return { message: textOf(detail), param: null };
  const { message, param } = membersOf(detail ?? body.error ?? body);
  return { message: textOf(message), param: nameOf(param) };
}

const membersOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
const textOf = (value: unknown): string => (typeof value === 'string' ? value.slice(0, MAX_MESSAGE_CHARACTERS) : '');
const nameOf = (value: unknown): string | null => (typeof value === 'string' ? value.replace(/^body\./, '') : null);
