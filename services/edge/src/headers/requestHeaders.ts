import type { IncomingMessage } from 'node:http';
import { hasMessagesErrors } from '@turnpike/public-api/messagesError';

/**
 * The only client headers that services receive. Others could pass for headers of the edge or a service (`x-…`, their
 * `_` spellings, `Forwarded`, `Via`) or name headers to drop (`Connection`). The rest has no meaning for services.
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
  'x-stainless-retry-count', // marks a retry of a call
] as const;

/** Most headers of a request; real requests to this API have far fewer. */
const MAX_HEADERS = 99;

/** Returns the client's headers to pass on, as lines that end with CRLF. The caller adds the edge's own headers. */
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

/**
 * Returns the key of a Messages API client, which uses a header of its own. The header is read only on the paths of
 * that API.
 */
function keyOfMessages(req: IncomingMessage): string {
  const key = req.headers['x-api-key'];
  if (key === undefined || req.headers.authorization !== undefined) return '';
  return isOfMessages(req) ? toHeaderLine('authorization', `Bearer ${String(key)}`) : '';
}

/** Returns whether a request is for a path of the Messages API. */
export const isOfMessages = ({ url = '' }: Pick<IncomingMessage, 'url'>): boolean =>
  hasMessagesErrors(url.split('?', 1)[0] as string);

export const toHeaderLine = (name: string, value: string | string[]): string => `${name}: ${value}\r\n`;

/**
 * Returns the key of a request. Node keeps the first of two `Authorization` headers, which may be the wrong one. So a
 * value that every guard refuses with 401 replaces it.
 */
const toOneKey = (req: IncomingMessage, first: string): string =>
  countHeaders(req, 'authorization') > 1 ? 'two keys' : first;

/** Returns how often a request has a header. Node keeps the first of some headers, and joins others. */
export function countHeaders({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const header = rawHeaders[at] as string;
    if (header.length === name.length && header.toLowerCase() === name) count += 1;
  }
  return count;
}

/**
 * Returns whether two servers could read the headers differently (request smuggling): too many headers, no `Host` or
 * two, or codings other than chunked. Only HTTP/1.0 has requests without a host.
 */
export function isAmbiguous(req: IncomingMessage): boolean {
  const hosts = countHeaders(req, 'host');
  const hasClearHost = hosts === 1 || (hosts === 0 && req.httpVersion === '1.0');
  const { 'transfer-encoding': coding = 'chunked' } = req.headers;
  return req.rawHeaders.length / 2 > MAX_HEADERS || !hasClearHost || coding.toLowerCase() !== 'chunked';
}
