import { createServer, type RequestListener, type Server } from 'node:http';
import type { WireError } from '@turnpike/public-api/wireError';
import { serveInTurn, toMalformedRequest } from './connection.ts';

/**
 * Idle time of a connection that callers are told. It is below the wait of a draining listener, so that no request is
 * on its way to a connection that closes.
 */
const KEEP_ALIVE_TOLD_MS = 5_000;
/** Additional idle time of a connection, longer than that of any proxy, for callers that ignore the header. */
const KEEP_ALIVE_BEYOND_MS = 60_000;
/**
 * Longest time for a whole request to arrive. It is above the apps' own timeout for a body, so that the refusal has
 * their error body.
 */
const REQUEST_TIMEOUT_MS = 150_000;
/** Most connections that wait to be accepted. The kernel drops others, and their clients retry after a second. */
const BACKLOG = 4_096;

export interface ListenOptions {
  host: string;
  port: number;
  /** The refusal of bytes that are no request. */
  malformed?: WireError;
}

/**
 * Serves on `host:port` and resolves when connections are accepted. Rejects with a one-line error and its remedy if the
 * port is in use.
 */
export function listen(
  handler: RequestListener,
  { host, port, malformed = toMalformedRequest() }: ListenOptions,
): Promise<Server> {
  const server = createServer({
    keepAliveTimeout: KEEP_ALIVE_TOLD_MS,
    keepAliveTimeoutBuffer: KEEP_ALIVE_BEYOND_MS,
    // The apps have an error body for it; Node's own refusal has none.
    requireHostHeader: false,
    headersTimeout: 10_000,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: 5_000,
  });
  // Headers are bounded by their size. Node would drop those above a number, maybe with the body's length or coding.
  server.maxHeadersCount = 0;
  serveInTurn(server, { serve: handler, malformed });
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new Error(`port ${port} is in use: stop what runs there or choose another port`, { cause: error })
          : error,
      ),
    );
    server.listen({ port, host, backlog: BACKLOG }, () => resolve(server));
  });
}
