import { createServer, type RequestListener, type Server } from 'node:http';

/** Longer than any proxy in front keeps an idle connection, so that we never close one it is about to use. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** Longest time for a whole request to arrive. */
const REQUEST_TIMEOUT_MS = 120_000;

export interface ListenOptions {
  host: string;
  port: number;
}

/** Serves on `host:port` and resolves when connections are accepted. Rejects with one line that says what to do when the port is taken. */
export function listen(handler: RequestListener, { host, port }: ListenOptions): Promise<Server> {
  const server = createServer(
    {
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      // The apps answer for it in their own words; Node's own refusal has no body.
      requireHostHeader: false,
      headersTimeout: 10_000,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: 5_000,
    },
    handler,
  );
  server.maxHeadersCount = 100;
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new Error(`port ${port} is in use: stop what runs there or choose another port`, { cause: error })
          : error,
      ),
    );
    server.listen(port, host, () => resolve(server));
  });
}

/** How often a draining server closes connections whose last request has ended meanwhile: a client may keep them for minutes. */
const DRAIN_SWEEP_MS = 100;

/** Takes no new connection, closes idle ones, and resolves when the last request in progress has ended. */
export function drain(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    const sweep = setInterval(() => server.closeIdleConnections(), DRAIN_SWEEP_MS);
    server.close((error) => {
      clearInterval(sweep);
      if (error) reject(error);
      else resolve();
    });
  });
}
