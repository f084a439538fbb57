import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** What a connection of a listener is used for. */
export interface ConnectionUse {
  /** Answers that have not ended. */
  answers: Set<ServerResponse>;
  /** When the last one ended, or the connection was opened; on the clock of `performance`. */
  idleSince: number;
}

const connectionsByServer = new WeakMap<Server, Map<Socket, ConnectionUse>>();

/** Keeps book of a server's connections, for the day it is drained. Called before it listens. */
export function followConnections(server: Server): void {
  const connections = new Map<Socket, ConnectionUse>();
  connectionsByServer.set(server, connections);
  server.on('connection', (socket: Socket) => {
    connections.set(socket, { answers: new Set(), idleSince: performance.now() });
    socket.once('close', () => connections.delete(socket));
  });
  server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    const use = connections.get(req.socket);
    if (!use) return;
    use.answers.add(res);
    res.once('close', () => {
      use.answers.delete(res);
      use.idleSince = performance.now();
    });
  });
}

/** The open connections of a server that `listen` has started. */
export function connectionsOf(server: Server): ReadonlyMap<Socket, ConnectionUse> {
  return connectionsByServer.get(server) ?? new Map();
}
