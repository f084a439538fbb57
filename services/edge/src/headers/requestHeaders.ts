import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/**
 * The only headers of a client that services behind get to see. Anything else could pass for what the edge or a service
 * says (`x-…`, their `_` spellings, `Forwarded`, `Via`), names headers to drop (`Connection`), or means nothing to them.
 */
const PASSED_ON = [
  'accept',
  'authorization',
  'content-encoding', // refused behind, in the family's own words
  'content-length',
  'content-type',
  'if-range', // whether a range is of what the client has
  'prefer', // how long a client waits for a job
  'range', // of contents
  'user-agent',
  'x-stainless-retry-count', // says of a call that it was tried before
] as const;

/** Most headers of a request; none that is meant for this API has nearly as many. */
export const MAX_HEADERS = 99;

/** A client's headers as they are passed on, with what the edge says about the call added. */
export function toUpstreamHeaders(req: IncomingMessage, ours: Record<string, string>): IncomingHttpHeaders {
  const { headers } = req;
  const passed: Record<string, string | string[] | undefined> = {};
  for (const name of PASSED_ON) {
    if (headers[name] !== undefined) passed[name] = headers[name];
  }
  // Node keeps the first of two `Authorization` headers, which may not be the one that was meant. A value that no guard accepts
  // is sent instead: 401.
  if (countHeaders(req, 'authorization') > 1) passed.authorization = 'two keys';
  if (headers['transfer-encoding'] !== undefined) passed['transfer-encoding'] = 'chunked';
  return { ...passed, ...ours };
}

/** How often a header stands in a request; Node shows the first of some, and joins others. */
export const countHeaders = ({ rawHeaders }: IncomingMessage, name: string): number =>
  rawHeaders.filter((header, index) => index % 2 === 0 && header.toLowerCase() === name).length;
