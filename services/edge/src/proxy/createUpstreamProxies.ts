import type { CallTimeouts } from '@turnpike/config/longestAnswers';
import { forEachOf } from '@turnpike/config/services';
import type { Logger } from '@turnpike/logging/createLogger';
import { UPSTREAM_NAMES, UPSTREAMS, type Upstream, type UpstreamUrls } from '../paths/upstream.ts';
import { createUpstreamProxy, type UpstreamProxy } from './createUpstreamProxy.ts';

/** One proxy for each service behind the edge. */
export const createUpstreamProxies = (
  settings: UpstreamUrls & CallTimeouts,
  { log }: { log: Logger },
): Record<Upstream, UpstreamProxy> =>
  forEachOf(UPSTREAM_NAMES, (upstream) => {
    const { setting, silenceMs } = UPSTREAMS[upstream];
    return createUpstreamProxy({ upstream, url: settings[setting], silenceTimeoutMs: silenceMs(settings), log });
  });
