import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '@turnpike/logging/createLogger';
import { REQUEST_ID_HEADER } from '@turnpike/public-api/headers';
import { createProxyMiddleware, type Plugin } from 'http-proxy-middleware';
import type { EdgeFault } from '../api/edgeError.ts';
import { keepShownHeaders } from '../headers/responseHeaders.ts';
import type { Upstream } from '../paths/upstream.ts';
import { NotSentError } from './reachUpstream.ts';
import { UpstreamAgent } from './upstreamAgent.ts';

/**
 * Idle connections are let go long before a service that ends closes them (`DRAIN_SETTLE_MS`), so that no request goes to one
 * about to be closed.
 */
const IDLE_CONNECTION_MS = 3_000;

/** Most requests, streams included, in progress with one upstream. What comes above them is refused, never queued. */
const MAX_IN_PROGRESS = 10_000;
const MAX_IDLE_CONNECTIONS = 512;
/**
 * Longest wait for a connection, where the upstream may be silent for as long: as a call may wait for its turn in the router.
 * An address that nobody answers at holds no call for longer, and no more than so many at once: what may wait in the
 * upstream's own listener.
 */
const CONNECT_TIMEOUT_MS = 20_000;
const MAX_CONNECTING = 4_096;

export interface UpstreamProxyOptions {
  upstream: Upstream;
  url: string;
  /** Longest silence of the upstream, before its answer or within it. */
  silenceTimeoutMs: number;
  /** Most requests, streams included, in progress with the upstream. */
  maxInProgress?: number;
  log: Logger;
}

export interface UpstreamProxy {
  /**
   * Passes a request on and its answer back, unbuffered both ways; ends the upstream's work when the client leaves. Calls
   * `refuse` when it cannot be passed on and nothing has been answered yet.
   */
  forward(req: IncomingMessage, res: ServerResponse, refuse: (fault: EdgeFault) => void): void;
  /** Closes the idle connections; those in use close with their answers. */
  close(): void;
}

/** A proxy to one service. What cannot be passed on is answered in the words of the service's own family of errors. */
export function createUpstreamProxy(options: UpstreamProxyOptions): UpstreamProxy {
  const { upstream, url, silenceTimeoutMs, maxInProgress = MAX_IN_PROGRESS, log } = options;
  const agent = new UpstreamAgent({
    keepAlive: true,
    timeout: IDLE_CONNECTION_MS,
    maxSockets: maxInProgress,
    maxFreeSockets: MAX_IDLE_CONNECTIONS,
    connectTimeoutMs: Math.min(silenceTimeoutMs, CONNECT_TIMEOUT_MS),
    maxConnecting: MAX_CONNECTING,
  });
  /** Not those whose answers are only on their way to the client: who does not read takes nobody's place. */
  const inProgress = new Set<ServerResponse>();
  const refusals = new WeakMap<ServerResponse, (fault: EdgeFault) => void>();

  function giveUp(res: ServerResponse, error: Error): void {
    inProgress.delete(res);
    // Once the answer has begun, the proxy ends the client's connection itself, unless the answer was already whole.
    if (res.headersSent || res.destroyed) return;
    log.warn({ err: error, upstream, requestId: res.getHeader(REQUEST_ID_HEADER) }, 'upstream unreachable');
    refusals.get(res)?.({ kind: 'upstream_unreachable', upstream, wasSent: wasSent(error) });
  }

  const followOurRules: Plugin = (proxyServer) => {
    // The proxy would have the connection of a chunked body closed after the answer. One that comes early, as to a wrong key,
    // would be lost then: the rest of the body runs into a closed connection.
    proxyServer.on('proxyReq', (proxyReq) => proxyReq.setHeader('connection', 'keep-alive'));
    proxyServer.on('proxyRes', (proxyRes, _req, res) => {
      proxyRes.once('close', () => inProgress.delete(res));
      keepShownHeaders(proxyRes.headers);
      // The proxy would copy the upstream's; but whether this connection stays is between the client and us.
      proxyRes.headers.connection = res.shouldKeepAlive ? 'keep-alive' : 'close';
      if (proxyRes.headers['content-type']?.startsWith('text/event-stream')) sendHeadersAtOnce(res);
    });
    proxyServer.on('error', (error, _req, res) => {
      if (res && 'headersSent' in res) giveUp(res, error);
    });
  };

  const proxy = createProxyMiddleware({
    target: new URL(url),
    agent,
    changeOrigin: true,
    proxyTimeout: silenceTimeoutMs,
    pathFilter: () => true,
    ejectPlugins: true, // they build a URL for every answer to log it, and answer errors in plain text
    plugins: [followOurRules],
  });

  return {
    forward(req, res, refuse) {
      if (inProgress.size >= maxInProgress) {
        log.warn(
          { maxInProgress, upstream, requestId: res.getHeader(REQUEST_ID_HEADER) },
          'upstream has all it may have',
        );
        return refuse({ kind: 'upstream_full', upstream });
      }
      inProgress.add(res);
      refusals.set(res, refuse);
      res.once('close', () => inProgress.delete(res));
      void proxy(req, res);
    },
    close: () => agent.destroy(),
  };
}

/** A stream's headers go out before its first event, which may be long in coming. Runs after the proxy has copied them. */
function sendHeadersAtOnce(res: ServerResponse): void {
  queueMicrotask(() => {
    if (!res.headersSent && !res.destroyed) res.flushHeaders();
  });
}

/** Codes of a connection that never stood. */
const NEVER_CONNECTED = ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN'];

function wasSent(error: Error): boolean {
  if (error instanceof NotSentError) return false;
  return !('code' in error && NEVER_CONNECTED.includes(String(error.code)));
}
