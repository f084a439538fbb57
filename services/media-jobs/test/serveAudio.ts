import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createLookUpGuard } from '@turnpike/authentication/createLookUpGuard';
import { createKeyGuard } from '@turnpike/authentication/keyGuard';
import { createHttpApp } from '@turnpike/http-service/createHttpApp';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { createFairSlots } from '@turnpike/request-reading/shares/fairSlots';
import { createKeyAllowance } from '@turnpike/request-reading/shares/keyAllowance';
import { noMediaMetrics, noTelemetry } from '@turnpike/telemetry/noTelemetry';
import { aTemporaryFolder } from '@turnpike/test-support/folders';
import { serveHttp } from '@turnpike/test-support/serveHttp';
import { until } from '@turnpike/test-support/until';
import { startTestReplica, type TestReplica } from '../../../deploy/media-simulator/test/support/testReplica.ts';
import { createToWireError } from '../src/api/mediaError.ts';
import { createBackends } from '../src/backends/createBackends.ts';
import { createReplicaTurns } from '../src/backends/replicaTurns.ts';
import type { MediaModel } from '../src/catalog/mediaCatalog.ts';
import { createMedia } from '../src/media/createMedia.ts';
import { openRequests } from '../src/request/openRequests.ts';
import { createSpeech } from '../src/routes/createSpeech.ts';
import { createTranscript } from '../src/routes/createTranscript.ts';
import type { CallDependencies } from '../src/routes/gates.ts';
import type { EngineName } from '../src/terms/backend.ts';
import { aMediaCatalog } from './aMediaModel.ts';
import { openTestMoney, type TestMoney } from './openTestMoney.ts';

/** The replicas of a test: what each plays, and its model. */
export type Played = readonly [personality: Parameters<typeof startTestReplica>[0], engine: EngineName, model: string];

/** The audio routes on simulated backends, with real money. */
export interface AudioService {
  url: string;
  money: TestMoney;
  replicas: TestReplica[];
  /** Folder of the files that are made. */
  mediaFolder: string;
  /** Jobs that were asked for. */
  made: Parameters<CallDependencies['jobs']['make']>[0][];
  /** Uses this key for every request from now on. */
  useKey(key: KeyRecord): void;
  /** Sends a request and returns the JSON of its answer. */
  post(
    path: string,
    body: object | FormData,
    signal?: AbortSignal,
    headers?: Record<string, string>,
  ): Promise<Response>;
  close(): Promise<void>;
}

/** Twice as many may come at once. */
export const LOOK_UPS_PER_SECOND = 25;

export async function serveAudio(played: readonly Played[], models: MediaModel[]): Promise<AudioService> {
  const log = aSilentLogger();
  const folder = await aTemporaryFolder();
  const [money, replicas] = await Promise.all([
    openTestMoney(),
    Promise.all(played.map(([personality]) => startTestReplica(personality, { voices: ['emma'] }))),
  ]);
  const mediaFolder = join(folder, 'media');
  const file = join(folder, 'backends.json');
  const entries = played.map(([, engine, model], nth) => ({
    id: `replica-${nth}`,
    url: replicas[nth]?.url,
    engine,
    model,
    slots: 2,
  }));
  await writeFile(file, JSON.stringify({ backends: entries }));
  const backends = createBackends({ file, metrics: { alerted: () => {} }, log });
  const catalog = aMediaCatalog(...models);
  let key: KeyRecord | undefined;
  const made: AudioService['made'] = [];
  const authenticator = {
    async authenticate() {
      if (!key) throw new Error('the test has given no key');
      return key;
    },
    assertMayCall() {},
  };
  const lookUps = createLookUpGuard({
    authenticator,
    lookUpsPerSecond: LOOK_UPS_PER_SECOND,
    tokenKeys: [],
    metrics: { keyBoundHit() {} },
    // All of a test is one moment.
    now: () => 0,
  });
  const house: CallDependencies = {
    catalog: { current: catalog },
    backends,
    replicas: createReplicaTurns(backends, noMediaMetrics),
    requests: await openRequests({
      folder: join(folder, 'uploads'),
      memoryMaxBytes: 2 ** 28,
      diskMaxBytes: 2 ** 28,
      imagesTimeoutMs: 1_000,
      imagePrivateHosts: new Set(),
    }),
    media: await createMedia({ folder: mediaFolder }),
    authenticator,
    admission: money.admission,
    findShortage: money.findShortage,
    refusedDecoding: createKeyAllowance({ bound: 'refused_recordings', capacity: 2_000, refillMs: 60_000, least: 50 }),
    cancelledRuns: createKeyAllowance({ bound: 'cancelled_runs', capacity: 1_000, refillMs: 60_000, least: 50 }),
    callBook: money.callBook,
    jobs: {
      async giveBack() {},
      takeRoom: async () => ({ leave: () => {}, limit: 500 }),
      keepClaim: () => ({ async close() {} }),
      keepAnswer: async () => () => {},
      content: async () => {
        throw new Error('the test keeps no answer');
      },
      async make(job) {
        made.push(job);
        return {
          id: 'job_1',
          status: 'queued',
          progress: 0,
          queuePosition: 0,
          params: job.request,
          prompt: null,
          createdAt: new Date(),
          completedAt: null,
          expiresAt: null,
          errorCode: null,
          outputs: [],
          usage: null,
        };
      },
      obtain: async ({ repeat }) => ({ claim: { creationId: '', version: 1, repeat } }),
      giveUp() {},
    },
    contents: createFairSlots({
      bound: 'contents',
      limits: { inAll: 2, perWorkspace: 2, waitingPerKey: 0 },
      givesWay: true,
    }),
    countLookUp: lookUps.count,
    publicUrl: 'http://api.example',
  };
  const guard = createKeyGuard({ authenticator, tokenKeys: [] });
  const toWireError = createToWireError({ keysPageUrl: 'http://dashboard.example/keys' });
  const app = createHttpApp({
    log,
    telemetry: noTelemetry,
    toWireError,
    routes: [
      { method: 'post', path: '/v1/audio/speech', guard, handler: createSpeech(house) },
      ...(['transcriptions', 'translations'] as const).map((name) => ({
        method: 'post' as const,
        path: `/v1/audio/${name}`,
        guard,
        handler: createTranscript(`audio.${name}`, house),
      })),
    ],
  });
  const server = await serveHttp(app);
  await until('all replicas are in', () => entries.every(({ model }) => backends.replicasFor(model).length > 0));
  return {
    url: server.url,
    money,
    replicas,
    mediaFolder,
    made,
    useKey(used) {
      key = used;
    },
    post: (path, body, signal, headers = {}) =>
      fetch(server.url + path, {
        method: 'POST',
        ...(body instanceof FormData
          ? { body, headers }
          : { body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } }),
        ...(signal && { signal }),
      }),
    async close() {
      await server.close();
      await money.callBook.allEnded();
      await backends.close();
      await Promise.all([money.close(), ...replicas.map((replica) => replica.close())]);
      await rm(folder, { recursive: true });
    },
  };
}
