import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listenAnywhere } from './listenAnywhere.ts';

/** A web server of images, and what it saw. */
export interface ImageHost {
  /** Without a path. */
  url: string;
  /** As `IMAGE_PRIVATE_HOSTS` names it. */
  hostAndPort: string;
  requests: IncomingMessage[];
  connections: number;
  /** Connections open now. */
  openConnections: number;
  close(): void;
}

/** Serves on a free port of the loopback address, answering as `answer` says. */
export async function anImageHost(answer: (res: ServerResponse, req: IncomingMessage) => void): Promise<ImageHost> {
  const server = createServer((req, res) => {
    host.requests.push(req);
    answer(res, req);
  });
  server.on('connection', (socket) => {
    host.connections += 1;
    host.openConnections += 1;
    socket.on('close', () => {
      host.openConnections -= 1;
    });
  });
  const url = await listenAnywhere(server);
  const host: ImageHost = {
    url,
    hostAndPort: new URL(url).host,
    requests: [],
    connections: 0,
    openConnections: 0,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
  return host;
}
