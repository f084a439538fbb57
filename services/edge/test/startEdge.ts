import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { forEachOf } from '@turnpike/config/services';
import { listen } from '@turnpike/http-service/listen';
import { aFleet } from '@turnpike/internal-auth/aFleet';
import { createLogger, type Logger } from '@turnpike/logging/createLogger';
import { shareThrottles } from '@turnpike/request-throttle/shareThrottles';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { createApp } from '../src/app.ts';
import { createFloodThrottle, type FloodLimit } from '../src/flood/createFloodThrottle.ts';
import { UPSTREAM_NAMES, type Upstream } from '../src/paths/upstream.ts';
import { createUpstreamProxy } from '../src/proxy/createUpstreamProxy.ts';

export const fleet = aFleet();

export interface TestEdge {
  port: number;
  url: string;
  /** Requests that reached a service, in order. */
  received: { upstream: Upstream; req: IncomingMessage }[];
  stop(): Promise<void>;
}

export interface TestEdgeOptions {
  /** Behavior of the services; with `down` nothing listens. Others answer 200 with their name. */
  upstreams?: Partial<Record<Upstream, RequestListener | 'down'>>;
  trustedHops?: number;
  floodLimit?: FloodLimit;
  telemetry?: Telemetry;
  /** A Redis by which edges share the flood limit; without one this edge is alone. */
  redisUrl?: string;
  log?: Logger;
}

/** The services behind this edge answer, though a busy machine may take its time. */
const SILENCE_TIMEOUT_MS = 60_000;

/** An edge in front of four small servers, on free ports. */
export async function startEdge(options: TestEdgeOptions = {}): Promise<TestEdge> {
  const received: TestEdge['received'] = [];
  const servers: Server[] = [];
  const urls = forEachOf(UPSTREAM_NAMES, () => '');
  for (const upstream of UPSTREAM_NAMES) {
    const answer = options.upstreams?.[upstream] ?? ((_req, res) => res.end(JSON.stringify({ upstream })));
    const server = createServer((req, res) => {
      received.push({ upstream, req });
      if (answer !== 'down') answer(req, res);
    });
    const port = answer === 'down' ? await findFreePort() : await openPort(server);
    urls[upstream] = `http://127.0.0.1:${port}`;
    if (answer !== 'down') servers.push(server);
  }
  const log = options.log ?? createLogger({ service: 'edge', level: 'silent' });
  const telemetry = options.telemetry ?? noTelemetry;
  const proxies = forEachOf(UPSTREAM_NAMES, (upstream) =>
    createUpstreamProxy({ upstream, url: urls[upstream], silenceTimeoutMs: SILENCE_TIMEOUT_MS, log }),
  );
  const floodThrottle = createFloodThrottle(options.floodLimit ?? { requestsPerMinute: 6_000, burst: 1_000 });
  const { redisUrl } = options;
  const sharing =
    redisUrl === undefined
      ? undefined
      : shareThrottles({ flood: floodThrottle }, { urls: [redisUrl], log, meter: telemetry.meter });
  const app = createApp({
    log,
    telemetry,
    proxies,
    signingKey: fleet.keyOf('edge'),
    trustedHops: options.trustedHops ?? 0,
    floodThrottle,
    serviceSegment: 'svc',
  });
  const server = await listen(app, { host: '127.0.0.1', port: 0 });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    received,
    async stop() {
      await Promise.all([server, ...servers].map(close));
      await sharing?.close();
      for (const proxy of Object.values(proxies)) proxy.close();
    },
  };
}

function openPort(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
