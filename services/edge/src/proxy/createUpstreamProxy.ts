import type { IncomingMessage, ServerResponse } from 'node:http';
import { forEachOf } from '@turnpike/config/services';
import { OrderedSet } from '@turnpike/lifecycle/orderedSet';
import type { Logger } from '@turnpike/logging/createLogger';
import { EpisodeLog } from '@turnpike/logging/episodeLog';
import { ListenerError, UpstreamConnections } from '@turnpike/upstream-connections/upstreamConnections';
import {
  UPSTREAM_NAMES,
  UPSTREAMS,
  type Upstream,
  type UpstreamTimeouts,
  type UpstreamUrls,
} from '../paths/upstream.ts';
import { type ForwardedCall, Forwarding, type UpstreamState } from './forwarding.ts';
import { reachUpstream } from './reachUpstream.ts';

/**
 * Idle connections are closed long before a stopping service closes them (`DRAIN_SETTLE_MS`), so that no request uses a
 * closing one.
 */
const IDLE_CONNECTION_MS = 3_000;

/** Most requests, streams included, in progress with one upstream. More are refused, never queued. */
const MAX_IN_PROGRESS = 10_000;
const MAX_IDLE_CONNECTIONS = 512;
/**
 * Most age of a connection, so that a new router gets its share of calls within a minute (docs/scaling.md, a rollout).
 */
const MAX_CONNECTION_AGE_MS = 60_000;
/**
 * Longest wait for a connection, unless the upstream's silence timeout is shorter. It is the time that a call may wait
 * for its turn in the router. An address that does not answer holds a call no longer. The number of waits is that of
 * the upstream's listen queue.
 */
const CONNECT_TIMEOUT_MS = 20_000;
const MAX_CONNECTING = 4_096;

/**
 * Interval of the one timer for all requests and idle connections. It counts ticks instead of time, because the bytes
 * of upstreams wait unread while this process is blocked.
 */
const TICK_MS = 500;

/**
 * Time after which a client that takes nothing of its answer is dropped. The upstream's silence does not count
 * meanwhile.
 */
const UNREAD_TIMEOUT_MS = 300_000;

export interface UpstreamProxyOptions {
  upstream: Upstream;
  /** Its address, `http:`, with its base path. */
  url: string;
  /** Longest silence of the upstream, before its answer or within it. */
  silenceTimeoutMs: number;
  /** Most requests, streams included, in progress with the upstream. */
  maxInProgress?: number;
  unreadTimeoutMs?: number;
  log: Logger;
}

export interface UpstreamProxy {
  /**
   * Passes a request on, and its answer back, unbuffered both ways. `headers` are lines that end with CRLF. Ends the
   * upstream's work when the client leaves. Refuses the call if it cannot be passed on before any part of an answer.
   */
  forward(request: { req: IncomingMessage; res: ServerResponse; headers: string; call: ForwardedCall }): void;
  /** Closes the idle connections. Those in use close after their answers. */
  close(): void;
}

/** Creates a proxy to one service. A failed call gets an error in the format of the service's API family. */
export function createUpstreamProxy(options: UpstreamProxyOptions): UpstreamProxy {
  const { upstream, url, silenceTimeoutMs, log } = options;
  const { maxInProgress = MAX_IN_PROGRESS, unreadTimeoutMs = UNREAD_TIMEOUT_MS } = options;
  const { hostname, port, host, pathname } = new URL(url);
  const basePath = pathname.replace(/\/+$/, '');
  const address = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80), noDelay: true };
  const timeoutMs = Math.min(silenceTimeoutMs, CONNECT_TIMEOUT_MS);
  const connections = new UpstreamConnections({
    connect: (onread) => reachUpstream({ ...address, onread }, { timeoutMs }),
    maxConnecting: MAX_CONNECTING,
    idleMs: IDLE_CONNECTION_MS,
    maxIdle: MAX_IDLE_CONNECTIONS,
    maxAgeMs: MAX_CONNECTION_AGE_MS,
  });
  const outages = new EpisodeLog(log, {
    goesOn: 'upstream is still unreachable',
    isOver: 'upstream refuses no request any more',
  });
  /** Requests that wait for the upstream. Excludes responses that only a slow client holds up. */
  const inProgress = new OrderedSet<Forwarding>();
  const state: UpstreamState = {
    connections,
    refuse({ requestId, refuse }, { error, wasSent }) {
      const facts = { err: error, upstream, requestId };
      if (error instanceof ListenerError) {
        log.error(facts, 'request failed');
        refuse({ kind: 'unforeseen', wasSent });
      } else {
        const write = (): void => log.warn({ ...facts, address: url }, 'upstream unreachable');
        outages.note(upstream, { facts: { upstream, address: url }, level: 'warn', write });
        refuse({ kind: 'upstream_unreachable', upstream, wasSent });
      }
    },
    noteCut({ requestId }, error) {
      const facts = { err: error, upstream, requestId };
      if (error instanceof ListenerError) log.error(facts, 'answer cut');
      else log.warn(facts, 'upstream broke an answer off');
    },
  };

  const mostTicks = { silent: Math.ceil(silenceTimeoutMs / TICK_MS), unread: Math.ceil(unreadTimeoutMs / TICK_MS) };
  const clock = setInterval(() => {
    connections.closeStale();
    for (const forwarding of inProgress) forwarding.tick(mostTicks);
  }, TICK_MS).unref();

  return {
    forward({ req, res, headers, call }) {
      if (inProgress.size >= maxInProgress) {
        log.warn({ maxInProgress, upstream, requestId: call.requestId }, 'upstream has all it may have');
        return call.refuse({ kind: 'upstream_full', upstream });
      }
      const forwarding = new Forwarding(state, { req, res, call });
      const requestLine = `${req.method} ${basePath}${req.url} HTTP/1.1`;
      const head = `${requestLine}\r\nhost: ${host}\r\nconnection: keep-alive\r\n${headers}\r\n`;
      void forwarding.start(head, inProgress.add(forwarding));
    },
    close() {
      clearInterval(clock);
      connections.close();
    },
  };
}

/** Creates one proxy for each service behind the edge. */
export const createUpstreamProxies = (
  settings: UpstreamUrls & UpstreamTimeouts,
  { log }: { log: Logger },
): Record<Upstream, UpstreamProxy> =>
  forEachOf(UPSTREAM_NAMES, (upstream) => {
    const { setting, silenceMs } = UPSTREAMS[upstream];
    return createUpstreamProxy({ upstream, url: settings[setting], silenceTimeoutMs: silenceMs(settings), log });
  });
