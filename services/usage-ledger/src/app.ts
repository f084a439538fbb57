import type { Authenticator } from '@turnpike/authentication/createAuthenticator';
import { createLookUpGuard } from '@turnpike/authentication/createLookUpGuard';
import type { NamedSecret } from '@turnpike/config/secrets';
import type { EventLogConsumer } from '@turnpike/event-log/eventLog';
import type { EventLogStore } from '@turnpike/event-log/eventLogStore';
import type { Guard } from '@turnpike/http-service/guard';
import type { RouteTable, ServiceRoutes } from '@turnpike/http-service/serviceApps';
import type { Logger } from '@turnpike/logging/createLogger';
import { createKeyBoundMetrics } from '@turnpike/telemetry/keyBoundMetrics';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import { createToPublicError, toWireError } from './api/ledgerError.ts';
import type { Db } from './database/createDb.ts';
import { createLookUpGate } from './ledger/createLookUpGate.ts';
import type { ReadContext } from './ledger/readUsageEvent.ts';
import { createReconcileGate, type Reconcile } from './reconcile/createReconcileGate.ts';
import { deleteRouter } from './routes/deleteRouter.ts';
import { getDailyUsage } from './routes/getDailyUsage.ts';
import { getDeadLetter } from './routes/getDeadLetter.ts';
import { getDeadLetters } from './routes/getDeadLetters.ts';
import { getReconciliation } from './routes/getReconciliation.ts';
import { getUsage } from './routes/getUsage.ts';
import { getUsageRequest } from './routes/getUsageRequest.ts';
import { getWorkspaceBalances } from './routes/getWorkspaceBalances.ts';
import { postCredit } from './routes/postCredit.ts';
import { postDeadLetterReplay } from './routes/postDeadLetterReplay.ts';
import { postEventLog } from './routes/postEventLog.ts';
import { postWorkspaceBalances } from './routes/postWorkspaceBalances.ts';
import { putRouterReport } from './routes/putRouterReport.ts';

/** Connections of the pool for look-ups: more than the slots below, so that readiness and the operator get theirs. */
export const LOOK_UP_CONNECTIONS = 10;
/** Sums have slots of their own: however slow they are, a call is looked up by its id. */
const BY_ID = { slots: 5, slotsPerKey: 3 };
const SUMS = { slots: 3, slotsPerKey: 2 };

export interface AppDependencies {
  log: Logger;
  telemetry: Pick<Telemetry, 'meter'>;
  authenticator: Authenticator;
  lookUpsPerSecond: number;
  /** Keys that the edge signs the client's address with. */
  tokenKeys: NamedSecret[];
  /** A pool of `LOOK_UP_CONNECTIONS`. */
  lookUpDb: Db;
  usageQueryTimeoutMs: number;
  /** The path segment of the look-ups, `svc` unless it was renamed. */
  serviceSegment: string;
  /** The page where people manage their API keys. */
  keysPageUrl: string;
  internalGuard: Guard;
  /** Region of this stack, of which all calls here are. */
  region: ReadContext['region'];
  db: Db;
  consumer: Pick<EventLogConsumer, 'lag'>;
  /** Has the gate count a workspace's credits of now; throws `gate_not_told`. */
  announceCredit: (workspaceId: string) => Promise<void>;
  /** Checks the books of one workspace, or of all. */
  reconcile: Reconcile;
  /** Where the embedded event log is kept; undefined where the stack has a broker. */
  store: EventLogStore | undefined;
}

export const listRoutes = (dependencies: AppDependencies): ServiceRoutes => ({
  public: listPublicRoutes(dependencies),
  internal: listInternalRoutes(dependencies),
  isReady: () => dependencies.lookUpDb.$queryRaw`SELECT 1`.then(() => true),
});

/** The routes that clients reach through the edge. */
function listPublicRoutes(dependencies: AppDependencies): RouteTable {
  const { telemetry, lookUpDb, usageQueryTimeoutMs: timeoutMs, serviceSegment } = dependencies;
  const guard = createLookUpGuard({ ...dependencies, metrics: createKeyBoundMetrics(telemetry.meter) });
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
        handler: getUsageRequest({ lookUpDb, lookUp: createLookUpGate({ ...BY_ID, timeoutMs }) }),
      },
    ],
  };
}

/** The routes for the other services and the operator. */
function listInternalRoutes(dependencies: AppDependencies): RouteTable {
  const { log, internalGuard, region, db, lookUpDb, consumer, announceCredit, reconcile, store } = dependencies;
  return {
    toWireError,
    routes: [
      {
        method: 'post',
        path: '/internal/credits',
        guard: internalGuard,
        handler: postCredit({ log, db, announceCredit }),
      },
      { method: 'get', path: '/internal/usage', guard: internalGuard, handler: getDailyUsage({ lookUpDb }) },
      {
        method: 'get',
        path: '/internal/reconciliation',
        guard: internalGuard,
        handler: getReconciliation(createReconcileGate(reconcile)),
      },
      { method: 'get', path: '/internal/dead-letters', guard: internalGuard, handler: getDeadLetters({ lookUpDb }) },
      {
        method: 'get',
        path: '/internal/dead-letters/:dead_letter_id',
        guard: internalGuard,
        handler: getDeadLetter({ lookUpDb }),
      },
      {
        method: 'post',
        path: '/internal/dead-letters/:dead_letter_id/replay',
        guard: internalGuard,
        handler: postDeadLetterReplay({ db, region }),
      },
      {
        method: 'get',
        path: '/internal/workspaces/:workspace_id/balances',
        guard: internalGuard,
        handler: getWorkspaceBalances({ db }),
      },
      {
        method: 'post',
        path: '/internal/workspaces/:workspace_id/balances',
        guard: internalGuard,
        handler: postWorkspaceBalances({ db }),
      },
      {
        method: 'put',
        path: '/internal/routers/:router_id',
        guard: internalGuard,
        handler: putRouterReport({ db, consumer }),
      },
      {
        method: 'delete',
        path: '/internal/routers/:router_id',
        guard: internalGuard,
        handler: deleteRouter({ db }),
      },
      {
        method: 'post',
        path: '/internal/event-log/:topic',
        guard: internalGuard,
        handler: postEventLog({ store }),
      },
    ],
  };
}
