import { HEADERS, type HeaderName, MESSAGES_REQUEST_ID_HEADER, REQUEST_ID_HEADER } from '@turnpike/public-api/headers';

/** Headers of ours that the edge alone writes: a service's own do not count. */
const OF_THE_EDGE: readonly string[] = [
  REQUEST_ID_HEADER,
  MESSAGES_REQUEST_ID_HEADER,
  'x-ratelimit-reset',
] satisfies HeaderName[];
/** The only headers of a service's answer that clients see. They have no information about services and engines. */
const SHOWN = new Set([
  'accept-ranges',
  'cache-control',
  'content-disposition',
  'content-length',
  'content-range',
  'content-type',
  'etag',
  ...Object.keys(HEADERS).filter((name) => !OF_THE_EDGE.includes(name)),
]);

/** Those of an answer's headers that clients see; names and values in turn, as they are given. */
export function toShownHeaders(headers: readonly string[]): string[] {
  const shown: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string;
    if (SHOWN.has(name)) shown.push(name, headers[at + 1] as string);
  }
  return shown;
}
