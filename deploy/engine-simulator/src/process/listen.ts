import { createServer, type RequestListener, type Server } from 'node:http';

/** How long vLLM keeps an idle connection. */
const KEEP_ALIVE_TIMEOUT_MS = 5_000;

export interface Address {
  host: string;
  port: number;
  /** The program that cannot listen, for the text of an error. */
  program: string;
}

/** Listens, or rejects in one line when the port is taken. */
export function listen(listener: RequestListener, { host, port, program }: Address): Promise<Server> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS, requestTimeout: 0 }, listener);
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new Error(`${program} cannot listen on ${host}:${port}: ${error.code ?? error.message}`, {
          cause: error,
        }),
      ),
    );
    server.listen(port, host, () => resolve(server));
  });
}

/** Ends every connection at once and gives the port back. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
