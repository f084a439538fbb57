import type { ServerResponse } from 'node:http';
import { toBodyAt } from '@turnpike/public-api/messagesError';
import { toErrorHeaders, type WireError } from '@turnpike/public-api/wireError';
import { cutAnswer, requestIdOf } from './observeRequests.ts';

const pathOf = ({ req }: ServerResponse): string => req.url?.split('?', 1)[0] ?? '';

/**
 * Sends a complete error answer, with its message in headers as well. After the headers were sent the socket is
 * destroyed, so that the answer does not look complete.
 */
export function sendWireError(res: ServerResponse, error: WireError): void {
  if (res.headersSent) {
    cutAnswer(res);
    return;
  }
  const { status, body, headers = {} } = error;
  const text = JSON.stringify(toBodyAt(pathOf(res), error, requestIdOf(res)));
  res.writeHead(status, {
    ...toErrorHeaders(body),
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
  });
  // A text leaves with the headers, as one.
  res.end(text);
}
