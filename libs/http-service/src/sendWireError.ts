import type { ServerResponse } from 'node:http';
import type { WireError } from '@turnpike/public-api/wireError';

/** Sends an error answer whole. After the headers have left nothing can be said: the socket is destroyed, never ended as if whole. */
export function sendWireError(res: ServerResponse, { status, body, headers = {} }: WireError): void {
  if (res.headersSent) {
    res.destroy();
    return;
  }
  const payload = Buffer.from(JSON.stringify(body));
  res.writeHead(status, {
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': payload.length,
  });
  res.end(payload);
}
