import { envelope, type WireError } from '@turnpike/public-api/wireError';

/** 400 of what is no request of HTTP/1.0 or 1.1, or can be read in two ways. */
export function toMalformedRequest(): WireError {
  return envelope(400, {
    message: 'The request is not well-formed HTTP, has too many or too large headers, or arrived too slowly.',
    type: 'invalid_request_error',
    param: null,
    code: null,
  });
}
