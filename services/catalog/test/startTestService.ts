import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAuthenticator } from '@turnpike/authentication/createAuthenticator';
import { createLookUpGuard } from '@turnpike/authentication/createLookUpGuard';
import { createInternalGuard } from '@turnpike/http-service/guard';
import { listen } from '@turnpike/http-service/listen';
import { createServiceApps } from '@turnpike/http-service/serviceApps';
import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { shareThrottles } from '@turnpike/request-throttle/shareThrottles';
import { createKeyBoundMetrics } from '@turnpike/telemetry/keyBoundMetrics';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import { until } from '@turnpike/test-support/until';
import { listRoutes } from '../src/app.ts';
import { followLiveModels } from '../src/catalog/followLiveModels.ts';
import type { SwitchModel } from '../src/catalog/switchModel.ts';
import { createModelListThrottle, type ModelListLimits } from '../src/routes/throttleModelList.ts';
import { silentLog } from './openTestCatalog.ts';
import { fleet } from './startNeighbours.ts';

export interface TestService {
  publicUrl: string;
  internalUrl: string;
  /** Puts other models in force, under the next version. */
  apply(models: CatalogModel[]): void;
  close(): Promise<void>;
}

export interface TestServiceOptions {
  models: CatalogModel[];
  authUrl: string;
  /** Without one, the router is never reached; without the other, media-jobs. */
  routerUrl?: string;
  mediaUrl?: string;
  limits?: ModelListLimits;
  /** A Redis by which services share the limits, which then refill; without one this service is alone. */
  redisUrl?: string;
  telemetry?: Telemetry;
  lookUpsPerSecond?: number;
  /** Unless given nothing about keys is remembered, so that tests can change what auth says. */
  cacheTtlMs?: number;
}

export const KEYS_PAGE_URL = 'https://dashboard.example/keys';
const NOBODY_LISTENS = 'http://127.0.0.1:1';
const UNLIMITED: ModelListLimits = { perAddressPerMinute: 1_000_000, perMinute: 1_000_000 };

/** Both listeners on free ports, as `main` puts them together, with a catalog set by hand and limits that never refill. */
export async function startTestService(options: TestServiceOptions): Promise<TestService> {
  const {
    authUrl,
    routerUrl = NOBODY_LISTENS,
    mediaUrl = NOBODY_LISTENS,
    limits = UNLIMITED,
    lookUpsPerSecond = 1_000_000,
    cacheTtlMs = 1,
    telemetry = noTelemetry,
  } = options;
  let snapshot = { version: 1, region: 'us' as const, models: options.models };
  const catalog = {
    current: () => snapshot,
    fault: () => undefined,
    databaseAwaySince: () => undefined,
    refresh: async () => snapshot,
    close: async () => {},
  };
  const findVersion = async (version: number) => (version === snapshot.version ? snapshot : undefined);
  const switchModel: SwitchModel = () => Promise.reject(new Error('a catalog set by hand has no switches'));
  const { publicKeys: keys } = fleet;
  const internalHeaders = createTokenIssuer({ key: fleet.keyOf('catalog') });
  const log = silentLog;
  const live = followLiveModels({ routerUrl, mediaUrl, internalHeaders, log });
  const authenticator = createAuthenticator({
    authUrl,
    region: 'us',
    internalHeaders,
    cacheTtlMs,
    // A test's own auth answers, though a busy machine may take its time.
    timeoutMs: 20_000,
  });
  const { guard: keyGuard } = createLookUpGuard({
    authenticator,
    lookUpsPerSecond,
    tokenKeys: keys,
    metrics: createKeyBoundMetrics(telemetry.meter),
    now: () => 0,
  });
  const { redisUrl } = options;
  const { takeModelList, throttles } = createModelListThrottle({
    limits,
    keys,
    ...(redisUrl === undefined && { now: () => 0 }),
  });
  const sharing =
    redisUrl === undefined ? undefined : shareThrottles(throttles, { urls: [redisUrl], log, meter: telemetry.meter });
  const internalGuard = createInternalGuard({ audience: 'us/catalog', keys });
  const routes = listRoutes({
    log,
    keyGuard,
    internalGuard,
    tokenKeys: keys,
    catalog,
    live,
    takeModelList,
    findVersion,
    listVersions: async () => ({ versions: [], isLast: true }),
    switchModel,
    keysPageUrl: KEYS_PAGE_URL,
  });
  const { publicApp, internalApp } = createServiceApps(routes, { log, telemetry });
  const servers = await Promise.all([publicApp, internalApp].map((app) => listen(app, { host: '127.0.0.1', port: 0 })));
  if (options.routerUrl !== undefined) await until('the live view', () => live.current() !== undefined);
  const [publicUrl = '', internalUrl = ''] = servers.map(urlOf);
  return {
    publicUrl,
    internalUrl,
    apply(models) {
      snapshot = { ...snapshot, version: snapshot.version + 1, models };
    },
    async close() {
      await live.close();
      await sharing?.close();
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
}

const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

/** GET on the public listener with a key and further headers: status, headers and the parsed body. */
export async function getAs(
  service: TestService,
  apiKey: string | undefined,
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: Headers; body: unknown }> {
  const authorization: Record<string, string> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  const response = await fetch(`${service.publicUrl}${path}`, {
    headers: { ...authorization, ...headers },
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}
