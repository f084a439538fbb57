import { toLongestCallMs } from '@turnpike/config/longestAnswers';
import { startService } from '@turnpike/http-service/startService';
import { shareThrottles } from '@turnpike/request-throttle/shareThrottles';
import { createApp } from './app.ts';
import { configSchema } from './config.ts';
import { createFloodThrottle } from './flood/createFloodThrottle.ts';
import { createUpstreamProxies } from './proxy/createUpstreamProxies.ts';

startService({
  name: 'edge',
  schema: configSchema,
  async open({ config, log, telemetry, shutdown }) {
    const proxies = createUpstreamProxies(config, { log });
    shutdown.defer('connections to services', () => {
      for (const proxy of Object.values(proxies)) proxy.close();
    });
    const floodThrottle = createFloodThrottle({
      requestsPerMinute: config.FLOOD_REQUESTS_PER_MINUTE,
      burst: config.FLOOD_BURST,
    });
    const sharing = shareThrottles({ flood: floodThrottle }, { urls: config.REDIS_URL, log, meter: telemetry.meter });
    shutdown.defer('shared limits', () => sharing.close());
    return createApp({
      log,
      telemetry,
      proxies,
      signingKey: config.INTERNAL_SIGNING_KEY,
      trustedHops: config.TRUSTED_HOPS,
      floodThrottle,
      serviceSegment: config.SERVICE_SEGMENT,
    });
  },
  // Nobody of the fleet asks the edge for anything.
  routes: (app) => ({ public: app, internal: { routes: [], toWireError: () => undefined }, readinessChecks: {} }),
  longestAnswerMs: toLongestCallMs,
});
