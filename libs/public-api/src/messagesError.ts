import type { ErrorBody, RejectionFields } from './errorBodies.ts';
import { toExplanation, type WireError } from './wireError.ts';

/** An error in the form of the Messages API. */
export interface MessagesError {
  type: 'error';
  error: { type: string; message: string } & Record<string, unknown>;
  request_id?: string | undefined;
}

const TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  405: 'invalid_request_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
};

/** An error of any family in the form of the Messages API: its sentence, and beside it the details that the family has. */
export function toMessagesError({ status, body }: WireError, requestId: string | undefined): MessagesError {
  const { message, param, ...details } = toExplanation(body);
  const { type: _type, error: code = details.code, ...others } = details;
  return {
    type: 'error',
    error: {
      type: TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error'),
      message,
      ...(param && { param }),
      ...(code !== undefined && code !== null && { code }),
      ...Object.fromEntries(Object.entries(others).filter(([name]) => name !== 'code')),
    },
    ...(requestId !== undefined && { request_id: requestId }),
  };
}

/** Whether the errors of a path have this form. */
export const hasMessagesErrors = (path: string): boolean => path === '/v1/messages' || path.startsWith('/v1/messages/');

/** Types of refusals by a chat's gates, as envelopes have them. */
const ENVELOPE_TYPES: Readonly<Record<number, string>> = { 402: 'insufficient_quota', 403: 'permission_error' };

/**
 * The body of an error as the Responses API has it: always an envelope, whose message is the sentence. On chat a refusal by a gate has the
 * bare code in its place, which is all that agents would print.
 */
export function toResponsesBody({ status, body }: WireError): ErrorBody {
  if (!('error' in body) || typeof body.error === 'string' || !('provider_specific_fields' in body.error)) return body;
  const fields: RejectionFields & { did_you_mean?: string[]; doc_url?: string | undefined } =
    body.error.provider_specific_fields;
  const { error: code, message, did_you_mean, doc_url } = fields;
  const type = ENVELOPE_TYPES[status] ?? 'invalid_request_error';
  return {
    error: { message, type, param: null, code, ...(did_you_mean && { did_you_mean }), ...(doc_url && { doc_url }) },
  };
}

/** The body of an error in the form of the API that a path belongs to. */
export function toBodyAt(path: string, error: WireError, requestId: string | undefined): object {
  if (hasMessagesErrors(path)) return toMessagesError(error, requestId);
  return path === '/v1/responses' ? toResponsesBody(error) : error.body;
}
