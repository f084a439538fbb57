import type { Readable } from 'node:stream';
import { type Dispatcher, FormData } from 'undici';
import { BackendFault, type Replica } from '../../terms/backend.ts';
import { BODY_IDLE_MS, MAX_RETRY_AFTER_MS, UNANSWERED_WITHIN_MS } from '../limits.ts';

/**
 * Work that a request begins at an engine. It decides the meaning of a missing answer.
 * - `job`: work that continues without the connection.
 * - `work`: work that ends with the connection.
 * - `content`: a read of existing bytes, which may break off.
 * - `nothing`: all other requests.
 */
export type Begins = 'job' | 'work' | 'content' | 'nothing';

export interface Question {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  /** Sent as JSON, or as a form. */
  body?: object | FormData;
  begins: Begins;
  /** Longest wait for the head of the answer. */
  answerWithinMs: number;
  signal: AbortSignal;
}

/** The head of an answer, and its body as it arrives. The receiver reads the body to its end or destroys it. */
export interface Answer {
  status: number;
  contentType: string;
  contentLength: number | undefined;
  retryAfterMs: number | undefined;
  body: Readable;
  /** Returns the fault of a body that broke off or is wrong, or the signal's reason if the signal has fired. */
  broken(cause?: unknown): unknown;
}

/** Errors before anything was sent. */
const REFUSED = new Set([
  'ECONNREFUSED',
  'UND_ERR_CONNECT_TIMEOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

const NO_ANSWER = { job: 'answer_lost', work: 'failed', content: 'unreachable', nothing: 'unreachable' } as const;
const BROKEN_ANSWER = { ...NO_ANSWER, content: 'answer_lost' } as const;

/**
 * Sends a request to a replica and returns its answer, of any status. Rejects with a `BackendFault` if no answer comes,
 * or with the signal's reason.
 */
export async function askBackend(
  dispatcher: Dispatcher,
  { url }: Pick<Replica, 'url'>,
  { method, path, body, begins, answerWithinMs, signal }: Question,
): Promise<Answer> {
  const beganAtMs = performance.now();
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), answerWithinMs);
  const isJson = body !== undefined && !(body instanceof FormData);
  try {
    const answer = await dispatcher.request({
      origin: url,
      method,
      path,
      headers: { accept: '*/*', ...(isJson && { 'content-type': 'application/json' }) },
      ...(body && { body: isJson ? JSON.stringify(body) : (body as FormData) }),
      headersTimeout: 0, // the timer is exact
      bodyTimeout: BODY_IDLE_MS,
      signal: AbortSignal.any([signal, late.signal]),
    });
    // The body may fail before it is read: the next read rejects then.
    answer.body.on('error', () => {});
    return {
      status: answer.statusCode,
      contentType: textOf(answer.headers['content-type']).toLowerCase(),
      contentLength: wholeNumber(textOf(answer.headers['content-length'])),
      retryAfterMs: toRetryAfterMs(textOf(answer.headers['retry-after'])),
      body: answer.body,
      broken: (cause) => (signal.aborted ? signal.reason : new BackendFault(BROKEN_ANSWER[begins], { cause })),
    };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const { code = '' } = error as NodeJS.ErrnoException;
    const isAtOnce = performance.now() - beganAtMs < UNANSWERED_WITHIN_MS;
    if (REFUSED.has(code)) throw new BackendFault('unreachable', { cause: error });
    if (begins === 'work' && !late.signal.aborted)
      throw new BackendFault(isAtOnce ? 'cut_off' : 'answer_lost', { cause: error });
    throw new BackendFault(NO_ANSWER[begins], { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

const textOf = (header: string | string[] | undefined): string => (Array.isArray(header) ? header[0] : header) ?? '';
const wholeNumber = (text: string): number | undefined => (/^\d{1,15}$/.test(text) ? Number(text) : undefined);

/** Parses seconds or an instant. */
function toRetryAfterMs(text: string): number | undefined {
  if (text === '') return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}
