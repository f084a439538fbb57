import type { Server } from 'node:http';

/** Serves on a free port of the loopback address; resolves with the base address. */
export function listenAnywhere(server: Server): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') return reject(new Error('no port was given'));
      resolve(`http://127.0.0.1:${address.port}`);
    });
  });
}
