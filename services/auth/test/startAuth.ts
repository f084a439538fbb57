import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInternalGuard } from '@turnpike/http-service/guard';
import { listen } from '@turnpike/http-service/listen';
import { createServiceApps } from '@turnpike/http-service/serviceApps';
import { signsAsCaller } from '@turnpike/internal-api/aCaller';
import { aFleet } from '@turnpike/internal-auth/aFleet';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { createLogger } from '@turnpike/logging/createLogger';
import { migrate } from '@turnpike/postgres/migrate';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import { openPostgres, type TestDatabases } from '@turnpike/test-support/startPostgres';
import { createLookUpAuthenticator, listRoutes } from '../src/app.ts';
import { type Db, openDatabases } from '../src/database/openDatabases.ts';
import { createRouterClient, type RouterClient } from '../src/router/routerClient.ts';

export const fleet = aFleet();
export const currentPepper = { id: 'p2', secret: 'a pepper of the tests, newer than the other' };
export const formerPepper = { id: 'p1', secret: 'a pepper of the tests, older than the other' };

/** So long that no test sees a verdict end by itself. */
const KEY_CACHE_TTL_MS = 600_000;

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the tests assert the shapes
  body: any;
}

export interface TestAuth {
  db: Db;
  router: RouterClient;
  publicUrl: string;
  internalUrl: string;
  /** GET on the public listener. */
  getPublic(path: string, authorization?: string, headers?: Record<string, string>): Promise<Answer>;
  /** A call on the internal listener with a valid token for auth, or the headers given instead. */
  callInternal(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Calls to the router, in order. */
  announced: string[];
  /** How the router answers to what it is told. */
  answerAnnouncements(listener: RequestListener): void;
  /** How the router answers the question for a key's spend. */
  answerSpend(listener: RequestListener): void;
  stop(): Promise<void>;
}

/** auth beside a router that a test plays by hand. */
export async function startAuth({
  telemetry = noTelemetry,
  routerTimeoutMs = 20_000,
  statementTimeoutMs = 20_000,
  lookUpsPerSecond = 1_000,
  now,
  postgres: given,
}: {
  telemetry?: Telemetry;
  /** Long where the router is to answer: a busy machine may take its time. */
  routerTimeoutMs?: number;
  statementTimeoutMs?: number;
  /** Many where a test is about something else. */
  lookUpsPerSecond?: number;
  now?: () => number;
  /** A test file's own, which ends with the service; else one that others may use too. */
  postgres?: TestDatabases;
} = {}): Promise<TestAuth> {
  const postgres = given ?? (await openPostgres());
  const databaseUrl = await postgres.createDatabase();
  await migrate({ databaseUrl, folder: new URL('../sql/', import.meta.url) });
  const databases = openDatabases(databaseUrl, {
    verdictTimeoutMs: statementTimeoutMs,
    statementTimeoutMs,
    // Waits for a connection as long as for a statement, because no test is about the wait.
    waitTimeoutMs: statementTimeoutMs,
  });
  const log = createLogger({ service: 'auth', level: 'silent' });

  const announced: string[] = [];
  let answerSpend: RequestListener = (_req, res) => res.end('{}');
  let answerAnnouncement = announcementHeard;
  const routerServer = createServer((req, res) => {
    if (req.method === 'GET') return answerSpend(req, res);
    announced.push(`${req.method} ${req.url}`);
    answerAnnouncement(req, res);
  });
  await new Promise<void>((resolve) => routerServer.listen(0, '127.0.0.1', resolve));
  const router = createRouterClient({
    url: urlOf(routerServer),
    internalHeaders: createTokenIssuer({ key: fleet.keyOf('auth') }),
    timeoutMs: routerTimeoutMs,
  });

  const region = 'us' as const;
  const peppers = [currentPepper, formerPepper];
  const dependencies = {
    log,
    telemetry,
    ...databases,
    region,
    peppers,
    router,
    authenticator: createLookUpAuthenticator({ ...databases, peppers, region, cacheTtlMs: KEY_CACHE_TTL_MS }),
    lookUpsPerSecond,
    ...(now && { now }),
    tokenKeys: fleet.publicKeys,
    internalGuard: createInternalGuard({ audience: 'us/auth', keys: fleet.publicKeys }),
    serviceSegment: 'svc',
    keysPageUrl: 'https://dashboard.example/keys',
  };
  const { publicApp, internalApp } = createServiceApps(listRoutes(dependencies), dependencies);
  const publicServer = await listen(publicApp, { host: '127.0.0.1', port: 0 });
  const internalServer = await listen(internalApp, { host: '127.0.0.1', port: 0 });
  const internalHeaders = signsAsCaller(fleet);

  return {
    db: databases.db,
    router,
    publicUrl: urlOf(publicServer),
    internalUrl: urlOf(internalServer),
    announced,
    getPublic: (path, authorization, headers) =>
      fetchJson(urlOf(publicServer) + path, {
        headers: { ...headers, ...(authorization !== undefined && { authorization }) },
      }),
    callInternal: async (method, path, body, headers) =>
      fetchJson(urlOf(internalServer) + path, {
        method,
        headers: headers ?? (await internalHeaders('auth', `${method} ${path}`)),
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    answerAnnouncements(listener) {
      answerAnnouncement = listener;
    },
    answerSpend(listener) {
      answerSpend = listener;
    },
    async stop() {
      await Promise.all([publicServer, internalServer, routerServer].map(close));
      await router.close();
      await databases.close();
      await postgres.stop();
    },
  };
}

/** How a router answers that goes by what it was told. */
export const announcementHeard: RequestListener = (_req, res) => void res.end('{"generation": 1}');

const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

async function fetchJson(url: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(url, init);
  return { status: response.status, body: await response.json() };
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
