import { createServer } from 'node:net';

/** A TCP port of the loopback address that nobody listens on at this moment. */
export function findFreePort(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const server = createServer();
  server.once('error', reject);
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    server.close(() => resolve(port));
  });
  return promise;
}
