import type { Authenticator } from '@turnpike/authentication/createAuthenticator';
import { createLookUpGuard } from '@turnpike/authentication/createLookUpGuard';
import { callingKey, createKeyGuard } from '@turnpike/authentication/keyGuard';
import type { PublicKey } from '@turnpike/config/internalKeys';
import { jobsConsoleApi } from '@turnpike/console-api/console/jobs';
import { createConsoleFaultWording, serveConsoleApi } from '@turnpike/console-api/transport/serveConsoleApi';
import type { Route } from '@turnpike/http-service/createHttpApp';
import type { Guard } from '@turnpike/http-service/guard';
import type { ServiceRoutes } from '@turnpike/http-service/serviceApps';
import { mediaJobsApi } from '@turnpike/internal-api/mediaJobs';
import { createFaultWording, serveApi } from '@turnpike/internal-api/transport/serveApi';
import type { Database, Queryable } from '@turnpike/postgres/database';
import { sql } from '@turnpike/postgres/sql';
import { wordDatabaseAway } from '@turnpike/postgres/wordDatabaseAway';
import { ApiError } from '@turnpike/public-api/apiError';
import { MEDIA_ROUTES } from '@turnpike/public-api/mediaRoutes';
import { createKeyBoundMetrics } from '@turnpike/telemetry/keyBoundMetrics';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import type { RequestHandler } from 'express';
import { createToWireError } from './api/mediaError.ts';
import type { CallFault } from './api/mediaFault.ts';
import { listBackendWarnings } from './backends/listBackendWarnings.ts';
import type { StoreWatch } from './jobs/watchStore.ts';
import type { Money } from './money/openMoney.ts';
import { weighList } from './request/readQuery.ts';
import { createConsoleHandlers } from './routes/consoleHandlers.ts';
import { createImages } from './routes/createImages.ts';
import { createSpeech } from './routes/createSpeech.ts';
import { createTranscript } from './routes/createTranscript.ts';
import { createVideo } from './routes/createVideo.ts';
import { getContent } from './routes/getContent.ts';
import { createInternalHandlers } from './routes/internalHandlers.ts';
import { deleteJob, getJob, listVideos } from './routes/jobHandlers.ts';
import type { LookUpDependencies } from './routes/lookUp.ts';

export interface AppDependencies {
  routed: Omit<LookUpDependencies, 'countLookUp'>;
  db: Pick<Database, 'query'>;
  /** The pool of read requests. */
  lookUpDb: Queryable;
  money: Pick<Money, 'isOpen' | 'describeClosedReason' | 'spool'>;
  storeWatch: Pick<StoreWatch, 'listWarnings'>;
  authenticator: Authenticator;
  telemetry: Pick<Telemetry, 'meter'>;
  lookUpsPerSecond: number;
  internalGuard: Guard;
  /** Keys that the edge signs the client's address and the caller of a console route with. */
  tokenKeys: PublicKey[];
  /** The page where people manage their API keys. */
  keysPageUrl: string | undefined;
}

const wordFault = createFaultWording(mediaJobsApi);
const wordConsoleFault = createConsoleFaultWording(jobsConsoleApi);

type RouteName = keyof typeof MEDIA_ROUTES;

const isList = ({ path, method }: { path: string; method: string }): boolean =>
  method === MEDIA_ROUTES.listVideos.method && path === MEDIA_ROUTES.listVideos.path;

/** Returns the routes that the edge proxies to, and the internal routes. */
export function listRoutes(dependencies: AppDependencies): ServiceRoutes {
  const { db, money, telemetry, internalGuard } = dependencies;
  const toWireError = createToWireError(dependencies);
  const keyGuard = createKeyGuard(dependencies);
  const metrics = createKeyBoundMetrics(telemetry.meter);
  // Looking at jobs, listing and deleting them takes nothing of the key's requests a minute.
  const lookUpGuard = createLookUpGuard({
    ...dependencies,
    metrics,
    weightOf: ({ path, method, query }) => (isList({ path, method }) ? weighList(query) : 1),
  });
  const routed: LookUpDependencies = { ...dependencies.routed, countLookUp: lookUpGuard.count };
  /** Counts the bounds that a key runs into. */
  const counted =
    (handler: RequestHandler): RequestHandler =>
    async (req, res, next) => {
      try {
        await handler(req, res, next);
      } catch (error) {
        const fault = error instanceof ApiError ? (error.fault as CallFault) : undefined;
        if (fault?.kind === 'key_bound_reached') metrics.keyBoundHit(fault.bound, callingKey(res).keyId);
        throw error;
      }
    };
  const creations: Partial<Record<RouteName, RequestHandler>> = {
    createImages: createImages(routed),
    createVideo: createVideo(routed),
    createSpeech: createSpeech(routed),
    createTranscription: createTranscript('audio.transcriptions', routed),
    createTranslation: createTranscript('audio.translations', routed),
  };
  const lookUps: Partial<Record<RouteName, RequestHandler>> = {
    getImageJob: getJob('image', routed),
    deleteImageJob: deleteJob('image', routed),
    getImageContent: getContent('image', routed),
    listVideos: listVideos(routed),
    getVideo: getJob('video', routed),
    deleteVideo: deleteJob('video', routed),
    getVideoContent: getContent('video', routed),
    getAudioJob: getJob('audio', routed),
    deleteAudioJob: deleteJob('audio', routed),
    getAudioContent: getContent('audio', routed),
  };
  const toRoutes = (handlers: Partial<Record<RouteName, RequestHandler>>, guard: Route['guard']): Route[] =>
    Object.entries(handlers).map(([name, handler]) => {
      const { method, path } = MEDIA_ROUTES[name as RouteName];
      return { method: method.toLowerCase() as Route['method'], path, guard, handler: counted(handler) };
    });
  return {
    public: { toWireError, routes: [...toRoutes(creations, keyGuard), ...toRoutes(lookUps, lookUpGuard.guard)] },
    internal: {
      toWireError: (error) =>
        wordFault(error) ?? wordConsoleFault(error) ?? toWireError(error) ?? wordDatabaseAway(error),
      routes: [
        ...serveApi(mediaJobsApi, {
          guard: internalGuard,
          handlers: createInternalHandlers({ ...routed, lookUpDb: dependencies.lookUpDb }),
        }),
        ...serveConsoleApi(jobsConsoleApi, {
          internalGuard,
          keys: dependencies.tokenKeys,
          handlers: createConsoleHandlers({ ...routed, lookUpDb: dependencies.lookUpDb }),
        }),
      ],
    },
    readinessChecks: {
      postgres: () => db.query(sql`SELECT 1`).then(() => true),
      catalog: () => routed.catalog.current !== undefined,
      'balances in Redis': () => money.isOpen() || money.describeClosedReason(),
      "the spool's disk": () => money.spool.diskFault ?? true,
    },
    listWarnings: () => [...dependencies.storeWatch.listWarnings(), ...listBackendWarnings(routed.backends)],
  };
}
