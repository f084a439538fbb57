import { loadConfig } from '@turnpike/config/loadConfig';
import { toLongestCallMs, toLongestSilenceMs } from '@turnpike/config/longestAnswers';
import { createHttpApp } from '@turnpike/http-service/createHttpApp';
import { createMetricsRoute } from '@turnpike/http-service/createMetricsRoute';
import { drain, toDrainTimeoutMs } from '@turnpike/http-service/drain';
import { createHealthRoutes } from '@turnpike/http-service/healthRoutes';
import { listen } from '@turnpike/http-service/listen';
import { createShutdown } from '@turnpike/lifecycle/createShutdown';
import { runMain } from '@turnpike/lifecycle/runMain';
import { createLogger } from '@turnpike/logging/createLogger';
import { startTelemetry } from '@turnpike/telemetry/startTelemetry';
import { createApp } from './app.ts';
import { configSchema } from './config.ts';
import { createUpstreamProxies } from './proxy/createUpstreamProxies.ts';

async function main(): Promise<void> {
  const config = loadConfig('edge', configSchema, process.env);
  const log = createLogger({ service: 'edge', region: config.REGION, level: config.LOG_LEVEL });
  const shutdown = createShutdown({ log });

  const telemetry = startTelemetry({
    service: 'edge',
    region: config.REGION,
    otlpEndpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT,
    traceSampleRatio: config.TRACE_SAMPLE_RATIO,
    log,
  });
  shutdown.defer('telemetry', () => telemetry.shutdown());
  const proxies = createUpstreamProxies({
    urls: {
      auth: config.AUTH_URL,
      catalog: config.CATALOG_URL,
      'model-router': config.ROUTER_URL,
      'usage-ledger': config.LEDGER_URL,
    },
    routerSilenceMs: toLongestSilenceMs(config),
    log,
  });
  shutdown.defer('connections to services', () => {
    for (const proxy of Object.values(proxies)) proxy.close();
  });

  const app = createApp({
    telemetry,
    proxies,
    tokenKeys: config.INTERNAL_TOKEN_KEYS,
    trustedHops: config.TRUSTED_HOPS,
    floodLimit: { requestsPerMinute: config.FLOOD_REQUESTS_PER_MINUTE, burst: config.FLOOD_BURST },
    serviceSegment: config.SERVICE_SEGMENT,
  });
  const server = await listen(app, { host: config.LISTEN_HOST, port: config.PORT });

  const internalApp = createHttpApp({
    log,
    telemetry,
    routes: [...createHealthRoutes(() => server.listening), createMetricsRoute(telemetry)],
    toWireError: () => undefined,
  });
  const internalServer = await listen(internalApp, { host: config.LISTEN_HOST, port: config.INTERNAL_PORT });
  const ending = { settleMs: config.DRAIN_SETTLE_MS, longestAnswerMs: toLongestCallMs(config) };
  shutdown.defer('listeners', () => drain([server, internalServer], ending), { timeoutMs: toDrainTimeoutMs(ending) });

  shutdown.onSignals();
  log.info({ port: config.PORT, internalPort: config.INTERNAL_PORT }, 'edge listens');
}

runMain(main);
