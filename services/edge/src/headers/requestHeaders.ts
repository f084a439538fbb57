import type { IncomingMessage } from 'node:http';
import { hasMessagesErrors } from '@turnpike/public-api/messagesError';

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
  'range', // contents
  'user-agent',
  'x-stainless-retry-count', // says of a call that it was tried before
] as const;

/** Most headers of a request; none that is meant for this API has nearly as many. */
const MAX_HEADERS = 99;

/** A client's headers as they are passed on: lines that end with CRLF. What the edge says about the call is for the edge to add. */
export function toUpstreamHeaders(req: IncomingMessage): string {
  const { headers } = req;
  let lines = keyOfMessages(req);
  for (const name of PASSED_ON) {
    const value = headers[name];
    if (value !== undefined)
      lines += toHeaderLine(name, name === 'authorization' ? toOneKey(req, String(value)) : value);
  }
  return headers['transfer-encoding'] === undefined ? lines : lines + toHeaderLine('transfer-encoding', 'chunked');
}

/** Clients of the Messages API name their key in a header of its own, which is read on its paths alone. */
function keyOfMessages(req: IncomingMessage): string {
  const key = req.headers['x-api-key'];
  if (key === undefined || req.headers.authorization !== undefined) return '';
  return isOfMessages(req) ? toHeaderLine('authorization', `Bearer ${String(key)}`) : '';
}

/** Whether a request calls a path of the Messages API. */
export const isOfMessages = ({ url = '' }: Pick<IncomingMessage, 'url'>): boolean =>
  hasMessagesErrors(url.split('?', 1)[0] as string);

export const toHeaderLine = (name: string, value: string | string[]): string => `${name}: ${value}\r\n`;

/**
 * Node keeps the first of two `Authorization` headers, which may not be the one that was meant. A value that no guard accepts
 * is sent instead: 401.
 */
const toOneKey = (req: IncomingMessage, first: string): string =>
  countHeaders(req, 'authorization') > 1 ? 'two keys' : first;

/** How often a header stands in a request; Node shows the first of some, and joins others. */
export function countHeaders({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const header = rawHeaders[at] as string;
    if (header.length === name.length && header.toLowerCase() === name) count += 1;
  }
  return count;
}

/**
 * Whether two readers could read the headers differently (request smuggling): too many to keep, no host or two, codings beside
 * chunks. Only HTTP/1.0 has requests without a host.
 */
export function isAmbiguous(req: IncomingMessage): boolean {
  const hosts = countHeaders(req, 'host');
  const hasClearHost = hosts === 1 || (hosts === 0 && req.httpVersion === '1.0');
  const { 'transfer-encoding': coding = 'chunked' } = req.headers;
  return req.rawHeaders.length / 2 > MAX_HEADERS || !hasClearHost || coding.toLowerCase() !== 'chunked';
}
