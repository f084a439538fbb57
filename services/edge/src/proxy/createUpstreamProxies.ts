import type { Logger } from '@turnpike/logging/createLogger';
import type { Upstream } from '../paths/upstream.ts';
import { createUpstreamProxy, type UpstreamProxy } from './createUpstreamProxy.ts';

/** Longest silence of a look-up's service, ms: a little more than the service allows itself. Beyond it the service hangs. */
const SILENCE_TIMEOUT_MS: Record<Exclude<Upstream, 'model-router'>, number> = {
  auth: 3_000,
  catalog: 3_000,
  'usage-ledger': 7_000,
};

/** One proxy for each service behind the edge. */
export function createUpstreamProxies({
  urls,
  routerSilenceMs,
  log,
}: {
  urls: Record<Upstream, string>;
  /** The same of the router, which works on answers for as long as its settings let it. */
  routerSilenceMs: number;
  log: Logger;
}): Record<Upstream, UpstreamProxy> {
  const silenceTimeoutsMs: Record<Upstream, number> = { ...SILENCE_TIMEOUT_MS, 'model-router': routerSilenceMs };
  const create = (upstream: Upstream): UpstreamProxy =>
    createUpstreamProxy({ upstream, url: urls[upstream], silenceTimeoutMs: silenceTimeoutsMs[upstream], log });
  return {
    auth: create('auth'),
    catalog: create('catalog'),
    'model-router': create('model-router'),
    'usage-ledger': create('usage-ledger'),
  };
}
