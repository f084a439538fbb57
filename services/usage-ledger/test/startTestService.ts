import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAuthenticator } from '@turnpike/authentication/createAuthenticator';
import type { PublicKey } from '@turnpike/config/internalKeys';
import type { EventLogConsumer } from '@turnpike/event-log/eventLog';
import { usageRecorded } from '@turnpike/events/usageRecorded';
import { createInternalGuard } from '@turnpike/http-service/guard';
import { listen } from '@turnpike/http-service/listen';
import { createServiceApps } from '@turnpike/http-service/serviceApps';
import { signsAsCaller } from '@turnpike/internal-api/aCaller';
import { modelRouterApi } from '@turnpike/internal-api/modelRouter';
import { createClient } from '@turnpike/internal-api/transport/createClient';
import { aFleet } from '@turnpike/internal-auth/aFleet';
import type { Logger } from '@turnpike/logging/createLogger';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import { LOOK_UP_CONNECTIONS, listRoutes } from '../src/app.ts';
import { consumeUsageRecorded } from '../src/consumers/usageRecorded.ts';
import { createAnnounceCredit } from '../src/credits/addCredit.ts';
import { followCredits } from '../src/credits/followCredits.ts';
import { createDb } from '../src/database/createDb.ts';
import { createEventLogStore } from '../src/event-log/createEventLogStore.ts';
import type { PricesOf } from '../src/reconcile/priceList.ts';
import { readRecoveryState } from '../src/recovery/describeRecovery.ts';
import { followTimeline } from '../src/recovery/followTimeline.ts';
import { observeRecovery } from '../src/recovery/recoveryMetrics.ts';
import { PATIENCE, silentLog, type TestLedger } from './openTestLedger.ts';

export const fleet = aFleet();

/** Signs calls of a test, each as a caller that its route declares. */
export const internalHeaders = signsAsCaller(fleet);

export interface TestService {
  publicUrl: string;
  internalUrl: string;
  consumer: EventLogConsumer;
  close(): Promise<void>;
}

export const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

/** The whole service on free ports, as `main` puts it together, on the embedded event log. */
export async function startTestService(
  { databaseUrl, db }: TestLedger,
  {
    authUrl,
    usageQueryTimeoutMs,
    routerUrl = 'http://127.0.0.1:1',
    controlPlane,
    telemetry = noTelemetry,
    lookUpsPerSecond = 1_000_000,
    cacheTtlMs = 1,
    followsTimeline = true,
    pricesOf = async () => [],
    log = silentLog,
    tokenKeys = fleet.publicKeys,
  }: {
    authUrl: string;
    usageQueryTimeoutMs: number;
    routerUrl?: string;
    /** The control plane, whose feed the service follows, and the keys of its pages. */
    controlPlane?: { url: string; keys: PublicKey[] };
    telemetry?: Telemetry;
    lookUpsPerSecond?: number;
    /** Unless given nothing about keys is remembered, so that tests can change what auth says. */
    cacheTtlMs?: number;
    /** Whether balances are given once the event log is read, or when a test says so. */
    followsTimeline?: boolean;
    /** The prices of a version of the catalog; the catalog knows none unless given. */
    pricesOf?: PricesOf;
    log?: Logger;
    /** The keys of its callers. */
    tokenKeys?: PublicKey[];
  },
): Promise<TestService> {
  const lookUpDb = createDb({
    databaseUrl,
    poolSize: LOOK_UP_CONNECTIONS,
    ...PATIENCE,
    statementTimeoutMs: usageQueryTimeoutMs,
  });
  await lookUpDb.$connect();
  const store = createEventLogStore(db);
  const consumer = await consumeUsageRecorded({ db, leaseDb: db, log, telemetry, region: 'us', source: { store } });
  const timeline = followsTimeline ? followTimeline({ db, consumer, topic: usageRecorded.topic, log }) : undefined;
  observeRecovery(telemetry.meter, () => readRecoveryState(db));
  const authenticator = createAuthenticator({
    authUrl,
    region: 'us',
    internalHeaders,
    cacheTtlMs,
    // A test's own auth answers, though a busy machine may take its time.
    timeoutMs: 20_000,
  });
  const announceCredit = createAnnounceCredit(
    createClient(modelRouterApi, { url: routerUrl, internalHeaders, timeoutMs: 20_000 }),
  );
  const creditFeed =
    controlPlane &&
    followCredits({
      ...controlPlane,
      internalHeaders: () => ({}),
      region: 'us',
      db,
      announceCredit,
      meter: telemetry.meter,
      log,
    });
  const routes = listRoutes({
    log,
    telemetry,
    authenticator,
    lookUpsPerSecond,
    tokenKeys,
    lookUpDb,
    usageQueryTimeoutMs,
    pricesOf,
    serviceSegment: 'svc',
    keysPageUrl: 'https://dashboard.example/keys',
    internalGuard: createInternalGuard({ audience: 'us/usage-ledger', keys: tokenKeys }),
    region: 'us',
    db,
    balancesDb: db,
    recordedDb: db,
    reportDb: db,
    readLag: () => consumer.lag(),
    announceCredit,
    creditFeed,
    reconcile: async () => [],
    store,
  });
  const { publicApp, internalApp } = createServiceApps(routes, { log, telemetry });
  const servers = await Promise.all([publicApp, internalApp].map((app) => listen(app, { host: '127.0.0.1', port: 0 })));
  const [publicUrl = '', internalUrl = ''] = servers.map(urlOf);
  return {
    publicUrl,
    internalUrl,
    consumer,
    async close() {
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
      await timeline?.close();
      await creditFeed?.close();
      await consumer.close();
      await lookUpDb.$disconnect();
    },
  };
}
