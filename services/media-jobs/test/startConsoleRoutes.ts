import type { PublicKey } from '@turnpike/config/internalKeys';
import { jobsConsoleApi } from '@turnpike/console-api/console/jobs';
import { createConsoleFaultWording, serveConsoleApi } from '@turnpike/console-api/transport/serveConsoleApi';
import { createHttpApp } from '@turnpike/http-service/createHttpApp';
import { createInternalGuard } from '@turnpike/http-service/guard';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import type { Queryable } from '@turnpike/postgres/database';
import { createFairSlots } from '@turnpike/request-reading/shares/fairSlots';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import { type HttpStandIn, serveHttp } from '@turnpike/test-support/serveHttp';
import { createToWireError } from '../src/api/mediaError.ts';
import { createConsoleHandlers } from '../src/routes/consoleHandlers.ts';

const wordFault = createConsoleFaultWording(jobsConsoleApi);
const toWireError = createToWireError({ keysPageUrl: undefined });

/** Two look-ups at once, one of a workspace, and one that waits. */
export const aFewLookUps = () =>
  createFairSlots({
    bound: 'job_look_ups',
    limits: { inAll: 2, perWorkspace: 1, waitingPerKey: 1 },
    givesWay: false,
  });

/** Serves the console routes of media-jobs on a free port, to an edge with one of the keys. */
export const startConsoleRoutes = (
  lookUpDb: Queryable,
  keys: PublicKey[],
  lookUps = aFewLookUps(),
): Promise<HttpStandIn> =>
  serveHttp(
    createHttpApp({
      log: aSilentLogger(),
      telemetry: noTelemetry,
      toWireError: (error) => wordFault(error) ?? toWireError(error),
      routes: serveConsoleApi(jobsConsoleApi, {
        internalGuard: createInternalGuard({ audience: 'us/media-jobs', keys }),
        keys,
        handlers: createConsoleHandlers({ lookUps, lookUpDb }),
      }),
    }),
  );
