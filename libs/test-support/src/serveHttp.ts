import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A test's own HTTP server. */
export interface HttpStandIn {
  url: string;
  server: Server;
  /** Ends every connection at once. Resolves when the port is free. */
  close(): Promise<void>;
}

/** Serves what a test answers on a free port of the loopback address. */
export async function serveHttp(listener: RequestListener): Promise<HttpStandIn> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    server,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
