import type { ServerResponse } from 'node:http';
import { toErrorHeaders, type WireError } from '@turnpike/public-api/wireError';
import { cutAnswer } from './observeRequests.ts';

/** Sends an error answer whole, its sentence in headers as well. After the headers have left nothing can be said: the socket is destroyed, never ended as if whole. */
export function sendWireError(res: ServerResponse, { status, body, headers = {} }: WireError): void {
  if (res.headersSent) {
    cutAnswer(res);
    return;
  }
  const text = JSON.stringify(body);
  res.writeHead(status, {
    ...toErrorHeaders(body),
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
  });
  // A text leaves with the headers, as one.
  res.end(text);
}
