import { ApiError, type Fault } from './apiError.ts';
import type { ErrorBody, ErrorEnvelope, FlatError, GateRejection, RejectionFields } from './errorBodies.ts';
import { type HeaderName, NEVER_RETRY, retryAfter } from './headers.ts';

type AnswerHeaders = Partial<Record<HeaderName, string>>;

/** An error answer as it goes over the wire. Clients branch on the status; bodies differ by endpoint family. */
export interface WireError {
  status: number;
  body: ErrorBody;
  headers?: AnswerHeaders;
}

/** `{error: {message, type, param?, code?, doc_url?}}`: chat, completions, embeddings and parts of other families. */
export function envelope(status: number, error: ErrorEnvelope['error'], headers?: AnswerHeaders): WireError {
  return { status, body: { error }, ...(headers && { headers }) };
}

/** The errors of that shape which several services answer with. */
export const invalid = (message: string, param: string | null = null) =>
  envelope(400, { message, type: 'invalid_request_error', param, code: null });
export const notServed = (
  message: string,
  code: string,
  fields: Pick<ErrorEnvelope['error'], 'param' | 'did_you_mean'> = {},
) => envelope(404, { message, type: 'invalid_request_error', param: null, code, ...fields }, NEVER_RETRY);
/** With a `doc_url` it is a limit of the key, and not of its address. */
export const throttled = (message: string, headers: AnswerHeaders, docUrl: { doc_url?: string | undefined } = {}) =>
  envelope(429, { message, type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded', ...docUrl }, headers);
export const failed = (message: string, headers?: AnswerHeaders) =>
  envelope(500, { message, type: 'server_error', param: null, code: 'internal_error' }, headers);
export const unavailable = (message: string, headers: AnswerHeaders = retryAfter(1)) =>
  envelope(503, { message, type: 'service_unavailable', param: null, code: 'service_unavailable' }, headers);

/** `{error: "<code>", …}`: `/v1/svc/*` and media. */
export function flat(
  status: number,
  error: string,
  fields: Omit<FlatError, 'error'>,
  headers?: AnswerHeaders,
): WireError {
  return { status, body: { error, ...fields }, ...(headers && { headers }) };
}

/** `{detail}`, without an `error` key: the 502 of `GET /v1/svc/key`, `GET /v1/svc/credit` and `GET /v1/models`. */
export function bare(status: number, detail: string): WireError {
  return { status, body: { detail } };
}

/**
 * Makes a chat gate's refusal before generation. `message` is the bare code, `type` and `param` are the text `None`,
 * and `code` is the status as text. Details for the caller are under `provider_specific_fields`.
 */
export function gateRejection(status: 402 | 403 | 404, fields: RejectionFields): WireError {
  return {
    status,
    body: {
      error: {
        message: fields.error,
        type: 'None',
        param: 'None',
        code: String(status),
        provider_specific_fields: fields,
      },
    },
    headers: NEVER_RETRY,
  };
}

/** Longest text of a header, in characters. */
const MAX_HEADER_TEXT = 300;
const ASCII_SIGNS: Record<string, string> = { '‘': "'", '’': "'", '“': '"', '”': '"', '–': '-', '—': '-', '×': 'x' };

/** Returns one line of printable ASCII: accents are dropped, and a sign that ASCII lacks becomes a question mark. */
function toHeaderText(text: string): string {
  const ascii = text
    .slice(0, MAX_HEADER_TEXT + 1)
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[‘’“”–—×]/g, (sign) => ASCII_SIGNS[sign] ?? sign)
    .replaceAll(/[\s\u0085]+/g, ' ')
    .replaceAll(/[^ -~]/gu, '?')
    .trim();
  return Math.max(text.length, ascii.length) > MAX_HEADER_TEXT ? `${ascii.slice(0, MAX_HEADER_TEXT - 3)}...` : ascii;
}

/**
 * Returns the headers that repeat an error's sentence and the field to blame. The usual clients show neither of a flat
 * body or of `provider_specific_fields`. A body without a sentence gives its code.
 */
export function toErrorHeaders(body: ErrorBody): AnswerHeaders {
  const { message, param } = toExplanation(body);
  const field = toHeaderText(param ?? '');
  return { 'x-error-message': toHeaderText(message), ...(field !== '' && { 'x-error-param': field }) };
}

interface ErrorParts {
  error: string | ErrorEnvelope['error'] | GateRejection['error'];
  message?: string | undefined;
  param?: string | undefined;
}

/** The sentence of an error of any family, the field to blame, and its details. */
export type Explanation = {
  message: string;
  param?: string | null | undefined;
  code?: string | null | undefined;
} & Partial<Record<string, unknown>>;

export function toExplanation(body: ErrorBody): Explanation {
  if (!('error' in body)) return { message: body.detail };
  const { error, message, ...details }: ErrorParts = body;
  if (typeof error === 'string') return { ...details, message: message ?? error, code: error };
  return 'provider_specific_fields' in error ? { ...error.provider_specific_fields } : { ...error };
}

/** The words of one family for a union of faults: a `switch` over all of its kinds, so that a missing one does not compile. */
export type Wording<F extends Fault> = (fault: F) => WireError;

/**
 * Words what a handler or its guard threw, by the first wording that has a case for it. Undefined for what nobody foresaw.
 */
export function findWording(error: unknown, wordings: readonly Wording<never>[]): WireError | undefined {
  if (!(error instanceof ApiError)) return undefined;
  for (const wording of wordings) {
    // A wording returns undefined for faults of other families.
    const worded = wording(error.fault as never) as WireError | undefined;
    if (worded) return worded;
  }
  return undefined;
}
