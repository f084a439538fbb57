import type { Authenticator } from '@turnpike/authentication/createAuthenticator';
import { createLookUpGuard } from '@turnpike/authentication/createLookUpGuard';
import { createKeyGuard } from '@turnpike/authentication/keyGuard';
import type { PublicKey } from '@turnpike/config/internalKeys';
import type { Route } from '@turnpike/http-service/createHttpApp';
import type { Guard } from '@turnpike/http-service/guard';
import type { ServiceRoutes } from '@turnpike/http-service/serviceApps';
import { mediaJobsApi } from '@turnpike/internal-api/mediaJobs';
import { serveApi } from '@turnpike/internal-api/transport/serveApi';
import { MEDIA_ROUTES } from '@turnpike/public-api/mediaRoutes';
import { createKeyBoundMetrics } from '@turnpike/telemetry/keyBoundMetrics';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import type { RequestHandler } from 'express';
import { createToWireError } from './api/mediaError.ts';
import type { Db } from './database/createDb.ts';
import type { Money } from './money/openMoney.ts';
import { weighList } from './request/readQuery.ts';
import { createImages } from './routes/createImages.ts';
import { createSpeech } from './routes/createSpeech.ts';
import { createTranscript } from './routes/createTranscript.ts';
import { createVideo } from './routes/createVideo.ts';
import { getContent } from './routes/getContent.ts';
import { createInternalHandlers } from './routes/internalHandlers.ts';
import { deleteJob, getJob, listVideos } from './routes/jobHandlers.ts';
import type { JobHouse } from './routes/jobHouse.ts';

export interface AppDependencies {
  house: Omit<JobHouse, 'countLookUp'>;
  db: Db;
  money: Pick<Money, 'isOpen' | 'describeLack' | 'spool'>;
  authenticator: Authenticator;
  telemetry: Pick<Telemetry, 'meter'>;
  lookUpsPerSecond: number;
  internalGuard: Guard;
  /** Keys that the edge signs the client's address with. */
  tokenKeys: PublicKey[];
  /** The page where people manage their API keys. */
  keysPageUrl: string | undefined;
}

type RouteName = keyof typeof MEDIA_ROUTES;

const isList = ({ path, method }: { path: string; method: string }): boolean =>
  method === MEDIA_ROUTES.listVideos.method && path === MEDIA_ROUTES.listVideos.path;

/** What the edge proxies to, and what the fleet alone reaches. */
export function listRoutes(dependencies: AppDependencies): ServiceRoutes {
  const { db, money, telemetry, internalGuard } = dependencies;
  const toWireError = createToWireError(dependencies);
  const keyGuard = createKeyGuard(dependencies);
  // Looking at jobs, listing and deleting them takes nothing of the key's requests a minute.
  const lookUpGuard = createLookUpGuard({
    ...dependencies,
    metrics: createKeyBoundMetrics(telemetry.meter),
    weightOf: ({ path, method, query }) => (isList({ path, method }) ? weighList(query) : 1),
  });
  const house: JobHouse = { ...dependencies.house, countLookUp: lookUpGuard.count };
  const creations: Partial<Record<RouteName, RequestHandler>> = {
    createImages: createImages(house),
    createVideo: createVideo(house),
    createSpeech: createSpeech(house),
    createTranscription: createTranscript('audio.transcriptions', house),
    createTranslation: createTranscript('audio.translations', house),
  };
  const lookUps: Partial<Record<RouteName, RequestHandler>> = {
    getImageJob: getJob('image', house),
    deleteImageJob: deleteJob('image', house),
    getImageContent: getContent('image', house),
    listVideos: listVideos(house),
    getVideo: getJob('video', house),
    deleteVideo: deleteJob('video', house),
    getVideoContent: getContent('video', house),
    getAudioJob: getJob('audio', house),
    deleteAudioJob: deleteJob('audio', house),
    getAudioContent: getContent('audio', house),
  };
  const toRoutes = (handlers: Partial<Record<RouteName, RequestHandler>>, guard: Route['guard']): Route[] =>
    Object.entries(handlers).map(([name, handler]) => {
      const { method, path } = MEDIA_ROUTES[name as RouteName];
      return { method: method.toLowerCase() as Route['method'], path, guard, handler };
    });
  return {
    public: { toWireError, routes: [...toRoutes(creations, keyGuard), ...toRoutes(lookUps, lookUpGuard.guard)] },
    internal: {
      toWireError,
      routes: serveApi(mediaJobsApi, { guard: internalGuard, handlers: createInternalHandlers(house) }),
    },
    readinessChecks: {
      postgres: () => db.$queryRaw`SELECT 1`.then(() => true),
      catalog: () => house.catalog.current() !== undefined,
      'balances in Redis': () => money.isOpen() || money.describeLack(),
      "the spool's disk": () => money.spool.diskFault ?? true,
    },
  };
}
