import type { Logger } from '@turnpike/logging/createLogger';
import { createUpstreamProxy, type UpstreamProxy } from './createUpstreamProxy.ts';
import type { Upstream } from './upstream.ts';

/**
 * Longest silence of each service, ms: a little more than the service allows itself. Beyond it the service hangs. The
 * router says nothing for as long as a whole answer may take; its streams say something every 15 s.
 */
const SILENCE_TIMEOUT_MS: Record<Upstream, number> = {
  auth: 3_000,
  catalog: 3_000,
  'model-router': 310_000,
  'usage-ledger': 7_000,
};

/** One proxy for each service behind the edge. */
export function createUpstreamProxies({
  urls,
  log,
}: {
  urls: Record<Upstream, string>;
  log: Logger;
}): Record<Upstream, UpstreamProxy> {
  const create = (upstream: Upstream): UpstreamProxy =>
    createUpstreamProxy({ upstream, url: urls[upstream], silenceTimeoutMs: SILENCE_TIMEOUT_MS[upstream], log });
  return {
    auth: create('auth'),
    catalog: create('catalog'),
    'model-router': create('model-router'),
    'usage-ledger': create('usage-ledger'),
  };
}
