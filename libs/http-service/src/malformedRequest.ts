import { invalid, type WireError } from '@turnpike/public-api/wireError';

/** 400 of what is no request of HTTP/1.0 or 1.1, or can be read in two ways. */
export function toMalformedRequest(): WireError {
  return invalid('The request is not well-formed HTTP, has too many or too large headers, or arrived too slowly.');
}
