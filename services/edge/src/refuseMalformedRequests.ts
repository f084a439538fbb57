import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { v7 as uuidv7 } from 'uuid';
import { toEdgeError } from './wire/edgeError.ts';

/**
 * Answers what is not HTTP, and what expects something other than `100-continue`, with a small JSON 400 and closes the
 * connection. Where an answer has already begun on the connection, it is destroyed: a second one could pass for a part of it.
 */
export function refuseMalformedRequests(server: Server): void {
  const latestAnswer = new WeakMap<Duplex, ServerResponse>();
  server.on('request', (req: IncomingMessage, res: ServerResponse) => latestAnswer.set(req.socket, res));
  server.on('clientError', (_error: Error, socket: Duplex) => {
    const answer = latestAnswer.get(socket);
    const isAnswering = answer?.headersSent === true && !answer.writableFinished;
    if (!socket.writable || isAnswering) socket.destroy();
    else refuse(socket);
  });
  server.on('checkExpectation', (req: IncomingMessage) => refuse(req.socket));
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
