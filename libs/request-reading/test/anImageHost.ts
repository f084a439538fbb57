import type { IncomingMessage, ServerResponse } from 'node:http';
import { serveHttp } from '@turnpike/test-support/serveHttp';

/** A web server of images, and what it saw. */
export interface ImageHost {
  /** Without a path. */
  url: string;
  /** Host and port in the form of `IMAGE_PRIVATE_HOSTS`. */
  hostAndPort: string;
  requests: IncomingMessage[];
  connections: number;
  /** Connections open now. */
  openConnections: number;
  /** Ends every connection at once. */
  close(): Promise<void>;
}

/** Serves on a free port of the loopback address, answering as `answer` says. */
export async function anImageHost(answer: (res: ServerResponse, req: IncomingMessage) => void): Promise<ImageHost> {
  const { server, url, close } = await serveHttp((req, res) => {
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
  const host: ImageHost = {
    url,
    hostAndPort: new URL(url).host,
    requests: [],
    connections: 0,
    openConnections: 0,
    close,
  };
  return host;
}
