import type { AddressInfo } from 'node:net';
import type { PublicKey, SigningKey } from '@turnpike/config/internalKeys';
import { CONSOLE_APIS, type ConsoleService } from '@turnpike/console-api/consoleApi';
import { listen } from '@turnpike/http-service/listen';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import { type ConsoleDependencies, createConsole } from '../src/console/createConsole.ts';
import { createFloodThrottle } from '../src/flood/createFloodThrottle.ts';
import { createUpstreamProxy } from '../src/proxy/createUpstreamProxy.ts';

/** An address of each service, where nothing listens. */
const AWAY = Object.fromEntries(CONSOLE_APIS.map(({ service }) => [service, 'http://127.0.0.1:1'])) as Record<
  ConsoleService,
  string
>;

/** The console host of region us, before services that listen elsewhere. */
export async function startConsole({
  allowedOrigin,
  urls,
  publicKeys,
  signingKey,
  port = 0,
  floodLimit = { requestsPerMinute: 6_000, burst: 1_000 },
  trustedHops = 0,
  inFlightBounds = { ofBlock: 64, inAll: 512 },
  telemetry = noTelemetry,
  routerUrl = 'http://127.0.0.1:1',
  onWarning,
}: Pick<ConsoleDependencies, 'allowedOrigin' | 'inFlightBounds'> & {
  /** The services that are there. */
  urls: Partial<ConsoleDependencies['urls']>;
  publicKeys: PublicKey[];
  /** The edge's own key. */
  signingKey: SigningKey;
  port?: number;
  floodLimit?: { requestsPerMinute: number; burst: number };
  trustedHops?: number;
  telemetry?: ConsoleDependencies['telemetry'];
  /** The router's public listener. */
  routerUrl?: string;
  onWarning?: (message: string) => void;
}): Promise<{ port: number; stop(): void }> {
  const log = Object.assign(aSilentLogger(), { warn: (_facts: object, message: string) => onWarning?.(message) });
  const router = createUpstreamProxy({ upstream: 'model-router', url: routerUrl, silenceTimeoutMs: 60_000, log });
  const { listener, malformed, close } = createConsole({
    log,
    telemetry,
    region: 'us',
    allowedOrigin,
    urls: { ...AWAY, ...urls },
    router,
    publicKeys,
    signingKey,
    internalHeaders: createTokenIssuer({ key: signingKey }),
    authTimeoutMs: 10_000,
    trustedHops,
    floodThrottle: createFloodThrottle(floodLimit),
    inFlightBounds,
  });
  const server = await listen(listener, { host: '127.0.0.1', port, malformed });
  return {
    port: (server.address() as AddressInfo).port,
    stop() {
      server.close();
      server.closeAllConnections();
      close();
      router.close();
    },
  };
}
