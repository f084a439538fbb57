import type { commonConfig } from '@turnpike/config/commonConfig';
import { ConfigError, type ConfigOf, loadConfig } from '@turnpike/config/loadConfig';
import { regionSchema, type Scope } from '@turnpike/config/region';
import type { ServiceName } from '@turnpike/config/services';
import { createTokenIssuer, type InternalHeaders } from '@turnpike/internal-auth/internalToken';
import { createShutdown, type Shutdown } from '@turnpike/lifecycle/createShutdown';
import { runMain } from '@turnpike/lifecycle/runMain';
import { BufferedLines } from '@turnpike/logging/bufferedLines';
import { createLogger, type Logger } from '@turnpike/logging/createLogger';
import { observeBuild } from '@turnpike/telemetry/processMetrics';
import { startTelemetry, type Telemetry } from '@turnpike/telemetry/startTelemetry';
import type { z } from 'zod';
import { drain, toDrainTimeoutMs } from './drain.ts';
import { createInternalGuard, type Guard } from './guard.ts';
import { listen } from './listen.ts';
import { AccessLog } from './observeRequests.ts';
import { createServiceApps, type ServiceRoutes } from './serviceApps.ts';

/** The base of every service, created before the service opens anything. */
export interface ServiceBase<Config> {
  config: Config;
  log: Logger;
  telemetry: Telemetry;
  /** Receives a line for each request of the public listener. */
  accessLog: AccessLog | undefined;
  /** Defers the closing of a resource. To be called on the line after the one that opens it. */
  shutdown: Pick<Shutdown, 'defer'>;
  /** Signs a call of this service to another one. */
  internalHeaders: InternalHeaders;
  /** The guard of internal routes, for the services and the operator. */
  internalGuard: Guard;
}

export interface ServiceOptions<Schema extends z.ZodObject<typeof commonConfig>, Opened> {
  name: ServiceName;
  /** Every variable that the service reads, `commonConfig` among them. */
  schema: Schema;
  /** Opens the dependencies of the routes. Each closes after the listeners, in reverse order. */
  open: (base: ServiceBase<ConfigOf<Schema>>) => Promise<Opened>;
  routes: (opened: Opened) => ServiceRoutes;
  /** Longest time for answers after the stop signal; 10 s without streams. */
  longestAnswerMs?: (config: ConfigOf<Schema>) => number;
  /** Ends the answers still in progress after that time. */
  cutAnswers?: (opened: Opened) => void;
}

/**
 * Runs a service as this process: settings, log, telemetry, dependencies, and then its listeners. After the stop signal
 * it drains the listeners and closes all open resources in reverse order. Ends with code 1 and one message if a
 * variable is wrong, a route has no guard, or a dependency cannot be opened.
 */
export function startService<Schema extends z.ZodObject<typeof commonConfig>, Opened>({
  name: service,
  schema,
  open,
  routes,
  longestAnswerMs,
  cutAnswers,
}: ServiceOptions<Schema, Opened>): void {
  runMain(async () => {
    const config = loadConfig(service, schema, process.env);
    const { LISTEN_HOST: host, INTERNAL_SIGNING_KEY: key, INTERNAL_PUBLIC_KEYS: keys } = config;
    const scope: Scope = 'REGION' in config ? regionSchema.parse(config.REGION) : 'global';
    const name = `${scope}/${service}`;
    if (key.issuer !== name)
      throw new ConfigError(`${service} cannot start: INTERNAL_SIGNING_KEY is of ${key.issuer}, not of ${name}`);
    const log = createLogger({ service, scope, level: config.LOG_LEVEL });
    const shutdown = createShutdown({ log });
    const telemetry = startTelemetry({
      service,
      scope,
      otlpEndpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT,
      traceSampleRatio: config.TRACE_SAMPLE_RATIO,
      log,
    });
    shutdown.defer('telemetry', () => telemetry.shutdown());
    observeBuild(telemetry.meter, { version: config.BUILD_VERSION, revision: config.BUILD_REVISION });
    const accessLog = openAccessLog({ service, scope, config, log, shutdown });

    // Signal handlers come first, because the first process of a container ignores signals without one.
    shutdown.onSignals();
    const opening = open({
      config,
      log,
      telemetry,
      accessLog,
      shutdown,
      internalHeaders: createTokenIssuer({ key }),
      internalGuard: createInternalGuard({ audience: name, keys }),
    });
    const opened = await opening.finally(async () => {
      // After a stop signal the process ends here, and resources close even while `open` runs.
      if (shutdown.isBegun) await shutdown.run('told to stop while it started');
    });

    const served = routes(opened);
    const { publicApp, internalApp } = createServiceApps(served, { log, telemetry, accessLog });
    const { console } = served;
    const listeners = [
      await listen(publicApp, { host, port: config.PORT }),
      ...(console ? [await listen(console.listener, { host, ...console })] : []),
      await listen(internalApp, { host, port: config.INTERNAL_PORT }),
    ];
    const ending = {
      settleMs: config.DRAIN_SETTLE_MS,
      ...(longestAnswerMs && { longestAnswerMs: longestAnswerMs(config) }),
      ...(cutAnswers && { cutAnswers: () => cutAnswers(opened) }),
    };
    shutdown.defer('listeners', () => drain(listeners, ending), { timeoutMs: toDrainTimeoutMs(ending) });
    log.info({ port: config.PORT, internalPort: config.INTERNAL_PORT }, `${service} listens`);
  });
}

/** Opens the access log of a region's service. The control plane has none, and neither has a log of warnings alone. */
function openAccessLog({
  service,
  scope,
  config,
  log,
  shutdown,
}: {
  service: ServiceName;
  scope: Scope;
  config: object;
  log: Logger;
  shutdown: Pick<Shutdown, 'defer'>;
}): AccessLog | undefined {
  if (!('ACCESS_LOG_SAMPLE_RATIO' in config) || !log.isLevelEnabled('info')) return undefined;
  const lines = new BufferedLines({ service, scope }, 'access');
  shutdown.defer('access log', () => lines.flush());
  return new AccessLog(lines, { sampleRatio: Number(config.ACCESS_LOG_SAMPLE_RATIO) });
}
