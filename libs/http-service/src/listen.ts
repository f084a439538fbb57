import { createServer, type RequestListener, type Server } from 'node:http';
import type { WireError } from '@turnpike/public-api/wireError';
import { serveInTurn, toMalformedRequest } from './connection.ts';

/**
 * How long callers are told that they may keep an idle connection. Shorter than a draining listener waits, so that nobody's
 * request is on its way to a connection when that is closed.
 */
const KEEP_ALIVE_TOLD_MS = 5_000;
/** How much longer it is kept: longer than any proxy in front does, for those that do not listen to what they are told. */
const KEEP_ALIVE_BEYOND_MS = 60_000;
/**
 * Longest time for a whole request to arrive. Longer than the apps wait for a body, so that they can refuse it in their own
 * words.
 */
const REQUEST_TIMEOUT_MS = 150_000;
/** Connections that stand and wait to be seen; the kernel drops those above, and their clients try again after a second. */
const BACKLOG = 4_096;

export interface ListenOptions {
  host: string;
  port: number;
  /** The refusal of bytes that are no request. */
  malformed?: WireError;
}

/** Serves on `host:port` and resolves when connections are accepted. Rejects with one line that says what to do when the port is taken. */
export function listen(
  handler: RequestListener,
  { host, port, malformed = toMalformedRequest() }: ListenOptions,
): Promise<Server> {
  const server = createServer({
    keepAliveTimeout: KEEP_ALIVE_TOLD_MS,
    keepAliveTimeoutBuffer: KEEP_ALIVE_BEYOND_MS,
    // The apps answer for it in their own words; Node's own refusal has no body.
    requireHostHeader: false,
    headersTimeout: 10_000,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: 5_000,
  });
  // Their size bounds them. Node would drop the headers above a number, perhaps those that say how the body comes.
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
