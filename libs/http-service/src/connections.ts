import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { WireError } from '@turnpike/public-api/wireError';
import { Connection, type WaitingRoom } from './connection.ts';

const connectionsByServer = new WeakMap<Server, Map<Socket, Connection>>();

/** Makes a server answer the requests of each connection in turn. Call it before the server listens. */
export function serveInTurn(
  server: Server,
  { serve, malformed }: { serve: RequestListener; malformed: WireError },
): void {
  const connections = new Map<Socket, Connection>();
  const room: WaitingRoom = { taken: 0 };
  connectionsByServer.set(server, connections);
  server.on('connection', (socket: Socket) => {
    connections.set(socket, new Connection(socket, { serve, malformed, room }));
    socket.once('close', () => connections.delete(socket));
  });
  server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    const isRefused = !isServed(req);
    // An offer to upgrade is not taken up; but the parser has let go of what came behind it.
    const isLast = isRefused || req.headers.upgrade !== undefined;
    connections.get(req.socket)?.add({ req, res, isRefused, isLast });
  });
  // Something other than `100-continue`.
  server.on('checkExpectation', (req: IncomingMessage, res: ServerResponse) =>
    connections.get(req.socket)?.add({ req, res, isRefused: true, isLast: true }),
  );
  // Without these listeners Node writes what it has to say at once, or drops the connection and says nothing.
  server.on('clientError', (_error, socket) => connections.get(socket as Socket)?.refuseRest());
  server.on('connect', (_req, socket) => connections.get(socket as Socket)?.refuseTunnel());
}

/** The parser takes other versions for one of these two. HTTP/1.0 has no chunks: who stands before us may see another body. */
function isServed({ httpVersion, headers }: IncomingMessage): boolean {
  return httpVersion === '1.1' || (httpVersion === '1.0' && headers['transfer-encoding'] === undefined);
}

/** The open connections of a server that `listen` has started. */
export function connectionsOf(server: Server): ReadonlyMap<Socket, Connection> {
  return connectionsByServer.get(server) ?? new Map();
}
