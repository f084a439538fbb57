import type { Authenticator } from '@turnpike/authentication/createAuthenticator';
import { createKeyGuard } from '@turnpike/authentication/keyGuard';
import type { EventLogConsumer } from '@turnpike/event-log/eventLog';
import type { EventLogStore } from '@turnpike/event-log/eventLogStore';
import { createHttpApp } from '@turnpike/http-service/createHttpApp';
import { createMetricsRoute } from '@turnpike/http-service/createMetricsRoute';
import type { Guard } from '@turnpike/http-service/guard';
import { createHealthRoutes } from '@turnpike/http-service/healthRoutes';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import type { Express } from 'express';
import type { Db } from './database/createDb.ts';
import { getDailyUsage } from './routes/getDailyUsage.ts';
import { getUsageRequest } from './routes/getUsageRequest.ts';
import { getWorkspaceBalances } from './routes/getWorkspaceBalances.ts';

import { postCredit } from './routes/postCredit.ts';
import { postEventLog } from './routes/postEventLog.ts';
import { toWireError } from './wire/ledgerError.ts';

export interface PublicAppDependencies {
  log: Logger;
  telemetry: Telemetry;
  authenticator: Authenticator;
  lookUpDb: Db;
  usageQueryTimeoutMs: number;
  /** The path segment of the look-ups, `svc` unless it was renamed. */
  serviceSegment: string;
}

/** What clients reach through the edge. */
export function createPublicApp(dependencies: PublicAppDependencies): Express {
  const { log, telemetry, authenticator, serviceSegment } = dependencies;
  return createHttpApp({
    log,
    telemetry,
    toWireError,
    routes: [
      {
        method: 'get',
        path: `/v1/${serviceSegment}/usage/request/:request_id`,
        guard: createKeyGuard(authenticator),
        handler: getUsageRequest(dependencies),
      },
    ],
  });
}

export interface InternalAppDependencies {
  log: Logger;
  telemetry: Telemetry;
  internalGuard: Guard;
  db: Db;
  lookUpDb: Db;
  consumer: Pick<EventLogConsumer, 'lag'>;
  /** Where the embedded event log is kept; undefined where the stack has a broker. */
  store: EventLogStore | undefined;
}

/** What the fleet, the operator and the orchestrator reach. */
export function createInternalApp(dependencies: InternalAppDependencies): Express {
  const { log, telemetry, internalGuard, db, lookUpDb, consumer, store } = dependencies;
  return createHttpApp({
    log,
    telemetry,
    toWireError,
    routes: [
      ...createHealthRoutes(() => lookUpDb.$queryRaw`SELECT 1`.then(() => true)),
      createMetricsRoute(telemetry),
      { method: 'post', path: '/internal/credits', guard: internalGuard, handler: postCredit({ db }) },
      { method: 'get', path: '/internal/usage', guard: internalGuard, handler: getDailyUsage({ lookUpDb }) },
      {
        method: 'get',
        path: '/internal/workspaces/:workspace_id/balances',
        guard: internalGuard,
        handler: getWorkspaceBalances({ db, consumer }),
      },
      {
        method: 'post',
        path: '/internal/event-log/:topic',
        guard: internalGuard,
        handler: postEventLog({ store }),
      },
    ],
  });
}
