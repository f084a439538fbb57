import type { IncomingHttpHeaders } from 'node:http';
import { HEADERS, type HeaderName, REQUEST_ID_HEADER } from '@turnpike/public-api/headers';

/** Headers of ours that the edge alone writes: a service's own do not count. */
const OF_THE_EDGE: readonly string[] = [REQUEST_ID_HEADER, 'x-ratelimit-reset'] satisfies HeaderName[];
/** The only headers of a service's answer that clients see. What services and engines say about themselves is not among them. */
const SHOWN = new Set([
  'accept-ranges',
  'cache-control',
  'content-disposition',
  'content-length',
  'content-range',
  'content-type',
  'etag',
  'transfer-encoding',
  ...Object.keys(HEADERS).filter((name) => !OF_THE_EDGE.includes(name)),
]);

/** Removes from an answer's headers, in place, every one that is not for clients. */
export function keepShownHeaders(headers: IncomingHttpHeaders): void {
  for (const name of Object.keys(headers)) {
    if (!SHOWN.has(name)) delete headers[name];
  }
}
