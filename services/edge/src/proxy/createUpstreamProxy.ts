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
 * Idle connections are let go long before a service that ends closes them (`DRAIN_SETTLE_MS`), so that no request goes to one
 * about to be closed.
 */
const IDLE_CONNECTION_MS = 3_000;

/** Most requests, streams included, in progress with one upstream. What comes above them is refused, never queued. */
const MAX_IN_PROGRESS = 10_000;
const MAX_IDLE_CONNECTIONS = 512;
/** So that a router that has just come has its share of calls within a minute: docs/scaling.md, a rollout. */
const MAX_CONNECTION_AGE_MS = 60_000;
/**
 * Longest wait for a connection, where the upstream may be silent for as long: as a call may wait for its turn in the router.
 * An address that nobody answers at holds no call for longer, and no more than so many at once: what may wait in the
 * upstream's own listener.
 */
const CONNECT_TIMEOUT_MS = 20_000;
const MAX_CONNECTING = 4_096;

/**
 * One timer looks after all requests and idle connections. It counts turns and not time: while this process is held up, what
 * upstreams have said waits to be read.
 */
const TICK_MS = 500;

/** A client that takes nothing of its answer for so long is dropped. No silence of the upstream counts meanwhile. */
const UNREAD_TIMEOUT_MS = 300_000;

export interface UpstreamProxyOptions {
  upstream: Upstream;
  /** Its address, `http:`, with the path that its paths stand below. */
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
   * Passes a request on with these headers, lines that end with CRLF, and its answer back, unbuffered both ways; ends the
   * upstream's work when the client leaves. The call is refused when it cannot be passed on and nothing has been answered yet.
   */
  forward(request: { req: IncomingMessage; res: ServerResponse; headers: string; call: ForwardedCall }): void;
  /** Closes the idle connections; those in use close with their answers. */
  close(): void;
}

/** A proxy to one service. What cannot be passed on is answered in the words of the service's own family of errors. */
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

/** One proxy for each service behind the edge. */
export const createUpstreamProxies = (
  settings: UpstreamUrls & UpstreamTimeouts,
  { log }: { log: Logger },
): Record<Upstream, UpstreamProxy> =>
  forEachOf(UPSTREAM_NAMES, (upstream) => {
    const { setting, silenceMs } = UPSTREAMS[upstream];
    return createUpstreamProxy({ upstream, url: settings[setting], silenceTimeoutMs: silenceMs(settings), log });
  });
