import type { RequestListener } from 'node:http';
import type { Logger } from '@turnpike/logging/createLogger';
import type { WireError } from '@turnpike/public-api/wireError';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import { createHttpApp, type HttpAppOptions, type Route } from './createHttpApp.ts';
import { openGuard } from './guard.ts';
import { createHealthRoutes, type ReadinessChecks, readReadiness, type Warning } from './healthRoutes.ts';
import type { AccessLog } from './observeRequests.ts';

/** Routes, and how what their handlers throw is worded. */
export type RouteTable = Pick<HttpAppOptions, 'routes' | 'toWireError'>;

/** The routes of a service's listeners. */
export interface ServiceRoutes {
  /** The routes that the edge proxies to; the edge itself, which only passes on, listens in its own way. */
  public: RouteTable | RequestListener;
  /** The routes for the fleet and the operator. Health, readiness and metrics come with them. */
  internal: RouteTable;
  /** The listener for browsers of one region, which the edge alone has. */
  console?: { listener: RequestListener; malformed: WireError; port: number };
  /** Readiness checks, by the name of what has to be there: `GET /ready` names what is missing. */
  readinessChecks: ReadinessChecks;
  /** Lists problems for the operator, for `GET /ready` and `GET /metrics`. */
  listWarnings?: () => Warning[];
}

/** The apps of a service's two listeners. */
export function createServiceApps(
  routes: ServiceRoutes,
  { log, telemetry, accessLog }: { log: Logger; telemetry: Telemetry; accessLog?: AccessLog | undefined },
): { publicApp: RequestListener; internalApp: RequestListener } {
  const { routes: internalRoutes, toWireError } = routes.internal;
  const { listWarnings } = routes;
  if (listWarnings) observeWarnings(listWarnings, telemetry);
  observeReadiness(routes.readinessChecks, telemetry);
  const common = [...createHealthRoutes(routes.readinessChecks, listWarnings), createMetricsRoute(telemetry)];
  return {
    publicApp:
      typeof routes.public === 'function'
        ? routes.public
        : createHttpApp({ ...routes.public, log, telemetry, accessLog }),
    internalApp: createHttpApp({ routes: [...common, ...internalRoutes], toWireError, log, telemetry }),
  };
}

/** Measures each warning as 1 while it is there. */
export function observeWarnings(listWarnings: () => Warning[], { meter }: Pick<Telemetry, 'meter'>): void {
  meter
    .createObservableGauge('turnpike_warnings', {
      description:
        'Things that an operator has to look at while calls are served, by kind and subject: 1 while it is so.',
    })
    .addCallback((result) => {
      for (const { kind, subject } of listWarnings()) result.observe(1, { kind, subject });
    });
}

/** Longest wait for one check at a scrape, within the deadline of all gauges. */
const SCRAPED_CHECK_MS = 2_000;

/** Measures each readiness check at every scrape: 1 if the dependency works, else 0. */
export function observeReadiness(checks: ReadinessChecks, { meter }: Pick<Telemetry, 'meter'>): void {
  meter
    .createObservableGauge('turnpike_ready', {
      description: 'Whether what a process cannot serve without is there, by readiness check: 1 while it is, else 0.',
    })
    .addCallback(async (result) => {
      for (const { name, isThere } of await readReadiness(checks, SCRAPED_CHECK_MS))
        result.observe(Number(isThere), { check: name });
    });
}

/**
 * `GET /metrics` for Prometheus, on the internal listener only. Open, since Prometheus cannot sign a token that ends
 * within minutes, and the answer holds nothing but numbers by route, fault and catalog model.
 */
export function createMetricsRoute({ serveMetrics }: Pick<Telemetry, 'serveMetrics'>): Route {
  return { method: 'get', path: '/metrics', guard: openGuard, handler: serveMetrics };
}
