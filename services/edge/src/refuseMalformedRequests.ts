import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { v7 as uuidv7 } from 'uuid';
import { toEdgeError } from './wire/edgeError.ts';

/**
 * Answers what is not HTTP, what expects something other than `100-continue`, and what asks for a tunnel, with a small JSON
 * 400 and closes the connection. Where the request has an answer already, the connection is destroyed: a second one could
 * pass for a part of it, or for another's.
 */
export function refuseMalformedRequests(server: Server): void {
  const latest = new WeakMap<Duplex, { req: IncomingMessage; res: ServerResponse }>();
  server.on('request', (req: IncomingMessage, res: ServerResponse) => latest.set(req.socket, { req, res }));
  server.on('clientError', (_error: Error, socket: Duplex) => {
    const { req, res } = latest.get(socket) ?? {};
    // Its request may still be coming in after the answer has ended: then the broken bytes are that request's too.
    const hasAnswer = res?.headersSent === true && !(res.writableFinished && req?.complete);
    if (!socket.writable || hasAnswer) socket.destroy();
    else refuse(socket);
  });
  server.on('checkExpectation', (req: IncomingMessage) => refuse(req.socket));
  // Without a listener Node drops the connection of who asks for a tunnel, and says nothing.
  server.on('connect', (_req: IncomingMessage, socket: Duplex) => refuse(socket));
}

function refuse(socket: Duplex): void {
  const { status, body } = toEdgeError({ kind: 'malformed_request' });
  const payload = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status} Bad Request`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(payload)}`,
    `x-request-id: ${uuidv7()}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${payload}`, () => socket.destroy());
}
