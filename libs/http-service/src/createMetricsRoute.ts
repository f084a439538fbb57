import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import type { Route } from './createHttpApp.ts';
import { openGuard } from './guard.ts';

/**
 * `GET /metrics` for Prometheus, on the internal listener only. Open, since Prometheus cannot sign a token that ends
 * within minutes, and the answer holds nothing but numbers by route, fault and catalog model.
 */
export function createMetricsRoute({ serveMetrics }: Pick<Telemetry, 'serveMetrics'>): Route {
  return { method: 'get', path: '/metrics', guard: openGuard, handler: serveMetrics };
}
