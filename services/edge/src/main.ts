import { toLongestCallMs } from '@turnpike/config/longestAnswers';
import { startService } from '@turnpike/http-service/startService';
import { shareThrottles } from '@turnpike/request-throttle/shareThrottles';
import { createApp } from './app.ts';
import { configSchema } from './config.ts';
import { createConsole } from './console/createConsole.ts';
import { createFloodThrottle } from './flood/createFloodThrottle.ts';
import { createUpstreamProxies } from './proxy/createUpstreamProxy.ts';

startService({
  name: 'edge',
  schema: configSchema,
  async open({ config, log, telemetry, accessLog, shutdown, internalHeaders }) {
    const proxies = createUpstreamProxies(config, { log });
    shutdown.defer('connections to services', () => {
      for (const proxy of Object.values(proxies)) proxy.close();
    });
    const floodLimit = { requestsPerMinute: config.FLOOD_REQUESTS_PER_MINUTE, burst: config.FLOOD_BURST };
    const floodThrottle = createFloodThrottle(floodLimit);
    // Apart from that of the API, because a flood of one host must not refuse requests to the other.
    const consoleFloodThrottle = createFloodThrottle(floodLimit);
    const sharing = shareThrottles(
      { flood: floodThrottle, 'console-flood': consoleFloodThrottle },
      { urls: config.REDIS_URL, log, meter: telemetry.meter },
    );
    shutdown.defer('shared limits', () => sharing.close());
    const common = {
      log,
      telemetry,
      signingKey: config.INTERNAL_SIGNING_KEY,
      trustedHops: config.TRUSTED_HOPS,
    };
    const app = createApp({ ...common, floodThrottle, proxies, serviceSegment: config.SERVICE_SEGMENT, accessLog });
    const { close, ...console } = createConsole({
      ...common,
      floodThrottle: consoleFloodThrottle,
      region: config.REGION,
      router: proxies['model-router'],
      allowedOrigin: config.CONSOLE_ALLOWED_ORIGIN,
      urls: {
        auth: config.AUTH_INTERNAL_URL,
        catalog: config.CATALOG_INTERNAL_URL,
        'usage-ledger': config.LEDGER_INTERNAL_URL,
        'media-jobs': config.MEDIA_INTERNAL_URL,
      },
      publicKeys: config.INTERNAL_PUBLIC_KEYS,
      internalHeaders,
      authTimeoutMs: config.AUTH_TIMEOUT_MS,
    });
    shutdown.defer('connections of the console host', close);
    return { app, console: { ...console, port: config.CONSOLE_PORT } };
  },
  // No service calls the edge.
  routes: ({ app, console }) => ({
    public: app,
    console,
    internal: { routes: [], toWireError: () => undefined },
    readinessChecks: {},
  }),
  longestAnswerMs: toLongestCallMs,
});
