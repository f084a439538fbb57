import type { IncomingHttpHeaders } from 'node:http';

/** The only headers of a service's answer that clients see. What services and engines say about themselves is not among them. */
const SHOWN = new Set([
  'allow',
  'cache-control',
  'content-length',
  'content-type',
  'etag',
  'retry-after',
  'transfer-encoding',
  'x-accel-buffering',
  'x-ratelimit-limit-requests',
  'x-ratelimit-limit-tokens',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-remaining-tokens',
  'x-ratelimit-reset-requests',
  'x-ratelimit-reset-tokens',
  'x-router-call-id',
  'x-should-retry',
]);

/** Removes from an answer's headers, in place, every one that is not for clients. */
export function keepShownHeaders(headers: IncomingHttpHeaders): void {
  for (const name of Object.keys(headers)) {
    if (!SHOWN.has(name)) delete headers[name];
  }
}
