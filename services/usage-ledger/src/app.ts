import type { Authenticator } from '@turnpike/authentication/createAuthenticator';
import { createLookUpGuard } from '@turnpike/authentication/createLookUpGuard';
import type { PublicKey } from '@turnpike/config/internalKeys';
import { usageConsoleApi } from '@turnpike/console-api/console/usage';
import { serveConsoleApi } from '@turnpike/console-api/transport/serveConsoleApi';
import type { Guard } from '@turnpike/http-service/guard';
import type { RouteTable, ServiceRoutes } from '@turnpike/http-service/serviceApps';
import { serveApi } from '@turnpike/internal-api/transport/serveApi';
import { usageLedgerApi } from '@turnpike/internal-api/usageLedger';
import { sql } from '@turnpike/postgres/sql';
import { createKeyBoundMetrics } from '@turnpike/telemetry/keyBoundMetrics';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import { createToPublicError, toInternalError } from './api/ledgerError.ts';
import type { Db } from './database/createDb.ts';
import { createLookUpGate, type LookUpGate } from './ledger/createLookUpGate.ts';
import { type BookHandlerDependencies, createBookHandlers } from './routes/bookHandlers.ts';
import { createConsoleHandlers } from './routes/consoleHandlers.ts';
import { createDeadLetterHandlers, type DeadLetterHandlerDependencies } from './routes/deadLetterHandlers.ts';
import { getUsage } from './routes/getUsage.ts';
import { getUsageRequest } from './routes/getUsageRequest.ts';
import {
  createRecoveryHandlers,
  createRouterHandlers,
  type RecoveryHandlerDependencies,
  type RouterHandlerDependencies,
} from './routes/routerHandlers.ts';

/** Connections of the pool for read requests: above the slots below, so that readiness and the operator get some. */
export const LOOK_UP_CONNECTIONS = 13;
/**
 * Sums have slots of their own, so that slow sums do not delay a call's read by id. In the console a workspace takes
 * the place of a key.
 */
const BY_ID = { slots: 5, slotsPerKey: 3 };
const SUMS = { slots: 3, slotsPerKey: 2 };
const CONSOLE_SUMS = { slots: 3, slotsPerKey: 2 };

export interface AppDependencies
  extends BookHandlerDependencies,
    DeadLetterHandlerDependencies,
    RouterHandlerDependencies,
    RecoveryHandlerDependencies {
  telemetry: Pick<Telemetry, 'meter'>;
  authenticator: Authenticator;
  lookUpsPerSecond: number;
  /** Keys that the edge signs the client's address and the caller of a console route with. */
  tokenKeys: PublicKey[];
  /** A pool of `LOOK_UP_CONNECTIONS`. */
  lookUpDb: Db;
  usageQueryTimeoutMs: number;
  /** The path segment of the usage routes, `svc` by default. */
  serviceSegment: string;
  /** The page where clients manage their API keys. */
  keysPageUrl: string | undefined;
  internalGuard: Guard;
}

export function listRoutes(dependencies: AppDependencies): ServiceRoutes {
  const lookUpCall = createLookUpGate({ ...BY_ID, timeoutMs: dependencies.usageQueryTimeoutMs });
  return {
    public: listPublicRoutes({ ...dependencies, lookUpCall }),
    internal: listInternalRoutes({ ...dependencies, lookUpCall }),
    readinessChecks: { postgres: () => dependencies.lookUpDb.query(sql`SELECT 1`).then(() => true) },
  };
}

type RouteDependencies = AppDependencies & { lookUpCall: LookUpGate };

/** The routes that clients reach through the edge. */
function listPublicRoutes(dependencies: RouteDependencies): RouteTable {
  const { telemetry, lookUpDb, lookUpCall, usageQueryTimeoutMs: timeoutMs, serviceSegment } = dependencies;
  const { guard } = createLookUpGuard({ ...dependencies, metrics: createKeyBoundMetrics(telemetry.meter) });
  return {
    toWireError: createToPublicError(dependencies),
    routes: [
      {
        method: 'get',
        path: `/v1/${serviceSegment}/usage`,
        guard,
        handler: getUsage({ lookUpDb, lookUp: createLookUpGate({ ...SUMS, timeoutMs }) }),
      },
      {
        method: 'get',
        path: `/v1/${serviceSegment}/usage/request/:request_id`,
        guard,
        handler: getUsageRequest({ lookUpDb, lookUp: lookUpCall }),
      },
    ],
  };
}

/** The routes for the other services and the operator. */
function listInternalRoutes(dependencies: RouteDependencies): RouteTable {
  const { internalGuard, tokenKeys, usageQueryTimeoutMs: timeoutMs } = dependencies;
  return {
    toWireError: toInternalError,
    routes: [
      ...serveApi(usageLedgerApi, {
        guard: internalGuard,
        handlers: {
          ...createBookHandlers(dependencies),
          ...createDeadLetterHandlers(dependencies),
          ...createRouterHandlers(dependencies),
          ...createRecoveryHandlers(dependencies),
        },
      }),
      ...serveConsoleApi(usageConsoleApi, {
        internalGuard,
        keys: tokenKeys,
        handlers: createConsoleHandlers({ ...dependencies, sumUp: createLookUpGate({ ...CONSOLE_SUMS, timeoutMs }) }),
      }),
    ],
  };
}
