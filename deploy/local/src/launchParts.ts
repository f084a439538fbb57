import { join } from 'node:path';
import {
  type DatabaseService,
  EVENT_LOG_SERVICES,
  entryOf,
  forEachOf,
  isDatabaseService,
  REGION_SERVICES,
  SERVICE_NAMES,
  SERVICES,
  type ServiceName,
} from '@turnpike/config/services';
import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import type { LaunchedEngine, LaunchingEngines } from './engines/launchedEngine.ts';
import { launchSimulators } from './engines/launchSimulators.ts';
import { listRealEngines } from './engines/listRealEngines.ts';
import type { EnginePlan } from './engines/planEngines.ts';
import type { LocalSecrets } from './localSecrets.ts';
import { type MediaBackend, toMediaBackends, writeMediaBackendsFile } from './media/mediaBackends.ts';
import { migrateDatabase } from './parts/migrateDatabase.ts';
import { startKafka } from './parts/startKafka.ts';
import { type ServiceDatabase, startPostgres } from './parts/startPostgres.ts';
import { type Program, startProgram } from './parts/startProgram.ts';
import { startRedis } from './parts/startRedis.ts';
import { startS3Proxy } from './parts/startS3Proxy.ts';
import { startService } from './parts/startService.ts';
import type { Part, Parts } from './process/startParts.ts';
import { seedWorkspace } from './seedWorkspace.ts';
import {
  S3,
  type StackSettings,
  toMigrationEnvironment,
  toOidcClient,
  toPaymentsAccount,
  toReplicaEnvironment,
  toServiceEnvironments,
  toServiceUrls,
} from './toServiceEnvironments.ts';

/** They read files that are written once the engines are known. */
const READS_OF_ENGINES: readonly ServiceName[] = ['catalog', 'model-router'];

/** One part has become ready. */
export interface Progress {
  part: string;
  tookMs: number;
}

export interface LaunchOptions {
  parts: Parts;
  settings: StackSettings;
  /** The region that has started the parts which all regions share; undefined for that one itself. */
  home: LaunchedParts | undefined;
  plan: EnginePlan;
  /** Folder of the services' code. */
  root: string;
  /** Folder of what the stores keep. */
  dataDir: string;
  /** Whether the data may be lost with the machine. */
  isScratch: boolean;
  /** Folder of the broker's jars; undefined where the event log is the embedded one. */
  kafkaJarDir: string | undefined;
  /** Folder of the S3 server's jars; undefined where objects are kept in a folder. */
  s3JarDir: string | undefined;
  onProgress: (progress: Progress) => void;
  say: (line: string) => void;
}

export interface LaunchedParts {
  stores: Part[];
  engines: LaunchedEngine[];
  /** The simulated media backends, all of one process; undefined if there is none. */
  media: { name: string; pid: number; backends: MediaBackend[] } | undefined;
  /** The parts beside the account layer. */
  account: { identityProvider: Part; mailCatcher: Part; payments: Part };
  services: Record<ServiceName, Part>;
  /** Further processes of services, where there are several of each: `edge-2` and so on. */
  replicas: Part[];
  /** Those that have an engine. */
  models: CatalogModel[];
}

/** Starts a region, each part as soon as what it cannot start without is there, and resolves when all of it is ready. */
export async function launchParts(options: LaunchOptions): Promise<LaunchedParts> {
  const { parts, home, settings, root, dataDir, isScratch, kafkaJarDir, s3JarDir, onProgress } = options;
  const { ports, secrets } = settings;
  const ownServices = home ? REGION_SERVICES : SERVICE_NAMES;
  const urls = toServiceUrls(ports);
  const environments = toServiceEnvironments(settings);
  const engines = launchEngines(options);

  async function timed<Result>(part: string, start: () => Promise<Result>): Promise<Result> {
    const startedAt = performance.now();
    const result = await start();
    onProgress({ part, tookMs: performance.now() - startedAt });
    return result;
  }
  const replicate = (service: ServiceName) =>
    ports.replicas[service].map((replicaPorts, index) => {
      const name = `${service}-${index + 2}`;
      const env = toReplicaEnvironment(environments[service], { ports: replicaPorts, name });
      const internalUrl = `http://127.0.0.1:${replicaPorts.internalPort}`;
      return timed(name, () => startService({ parts, service, name, internalUrl, env, root }));
    });

  const postgres = timed('postgres', () =>
    startPostgres({
      parts,
      dataDir: join(dataDir, 'postgres'),
      port: ports.postgres,
      isScratch,
      password: secrets.postgresPassword,
      databases: listDatabases(ownServices.filter(isDatabaseService), secrets.databasePasswords),
    }),
  );
  const redis = timed('redis', () =>
    startRedis({
      parts,
      dataDir: join(dataDir, 'redis'),
      isScratch,
      port: ports.redis,
      password: secrets.redisPassword,
    }),
  );
  const kafka =
    kafkaJarDir === undefined
      ? Promise.resolve(undefined)
      : timed('kafka', () =>
          startKafka({
            parts,
            jarDir: kafkaJarDir,
            dataDir: join(dataDir, 'kafka'),
            port: ports.kafka,
            controllerPort: ports.kafkaController,
            listeners: EVENT_LOG_SERVICES.map((client) => {
              const port = ports.kafkaListeners[client];
              return { port, advertisedPort: settings.portOf(client, port) };
            }),
          }),
        );
  const s3 =
    s3JarDir === undefined
      ? Promise.resolve(undefined)
      : timed('s3', () =>
          startS3Proxy({
            parts,
            jarDir: s3JarDir,
            dataDir: join(dataDir, 's3'),
            port: ports.s3,
            secretAccessKey: secrets.s3Secret,
            ...S3,
          }),
        );
  const ready = timed('engines', () => engines.ready);
  const media = launchMedia(options);
  const mediaReady = timed('media', () => media.ready);

  const startAccount = async (): Promise<LaunchedParts['account']> => {
    const start = (name: string, port: number, env: Program['env']) => {
      const file = `deploy/${name}/src/main.ts`;
      return timed(name, () => startProgram(parts, { name, file, env: { PORT: String(port), ...env }, ports: [port] }));
    };
    const { secretKey, webhookUrl, webhookSecret } = toPaymentsAccount(settings);
    const [identityProvider, mailCatcher, payments] = await Promise.all([
      start('identity-provider', ports.identityProvider, { CLIENTS: JSON.stringify([toOidcClient(settings)]) }),
      start('mail-catcher', ports.mailCatcher.port, {
        SMTP_PORT: String(ports.mailCatcher.smtpPort),
        MAILS_DIR: join(dataDir, 'mails'),
      }),
      start('payments-simulator', ports.payments.port, {
        ADMIN_PORT: String(ports.payments.adminPort),
        SECRET_KEY: secretKey,
        WEBHOOK_URL: webhookUrl,
        WEBHOOK_SECRET: webhookSecret,
        DATA_DIR: join(dataDir, 'payments'),
      }),
    ]);
    return { identityProvider, mailCatcher, payments };
  };
  const account = home ? home.account : startAccount();

  /** Started as soon as its stores are there; whom it needs to be ready may still be on the way. */
  const launch = async (service: ServiceName): Promise<Part> => {
    const { redis: needsRedis, eventLog: needsEventLog, objects: needsObjects, readyAfter = [] } = entryOf(service);
    if (isDatabaseService(service)) {
      await postgres;
      await migrateDatabase(parts, service, { env: toMigrationEnvironment(service, settings), root });
    }
    await Promise.all([
      needsRedis && redis,
      needsEventLog && kafka,
      needsObjects && s3,
      READS_OF_ENGINES.includes(service) && engines.listed,
      entryOf(service).engines === 'media' && media.listed,
    ]);
    return timed(service, () =>
      startService({
        parts,
        service,
        name: service,
        internalUrl: urls[service].internalUrl,
        env: environments[service],
        root,
        untilServed: () => Promise.all(readyAfter.map((callee) => launched[callee])),
      }),
    );
  };
  const launched: Record<ServiceName, Promise<Part>> = forEachOf(SERVICE_NAMES, (service) =>
    home && entryOf(service).scope === 'global' ? Promise.resolve(home.services[service]) : launch(service),
  );
  // The router is needed as well, because it learns of the keys of an existing workspace.
  const seed = Promise.all([
    launched.auth,
    launched['usage-ledger'],
    launched['model-router'],
    launched['control-plane'],
  ]).then(() =>
    seedWorkspace({
      auth: urls.auth,
      ledger: urls['usage-ledger'],
      account: urls['control-plane'],
      apiKey: secrets.apiKey,
      operatorKey: secrets.internalKeys.operator ?? '',
    }),
  );

  const [stores, launchedEngines, launchedMedia, launchedAccount, models, services] = await Promise.all([
    Promise.all([postgres, redis, kafka, s3]),
    ready,
    mediaReady,
    account,
    engines.listed,
    Promise.all(SERVICE_NAMES.map(async (service) => [service, await launched[service]] as const)),
    seed,
  ]);
  const replicas = await Promise.all(ownServices.flatMap(replicate));
  return {
    stores: stores.filter((part) => part !== undefined),
    engines: launchedEngines,
    media: launchedMedia,
    account: launchedAccount,
    models,
    services: Object.fromEntries(services) as Record<ServiceName, Part>,
    replicas,
  };
}

function launchEngines({ parts, plan, settings, say }: LaunchOptions): LaunchingEngines {
  const { region, ports, catalogFile, enginesFile, portOf } = settings;
  if (plan.kind === 'simulated') return launchSimulators({ parts, models: plan.models, ports, enginesFile, portOf });
  return listRealEngines({ region, plan, catalogFile, enginesFile, say });
}

/** Writes the file of media backends, and starts those that are simulated. */
function launchMedia({ parts, plan, settings, dataDir }: LaunchOptions): {
  listed: Promise<void>;
  ready: Promise<LaunchedParts['media']>;
} {
  const { ports, mediaBackendsFile, portOf } = settings;
  const backends = toMediaBackends(plan.mediaModels, { ports, dataDir: join(dataDir, 'media-simulators') });
  const start = async (): Promise<LaunchedParts['media']> => {
    if (backends.length === 0) return undefined;
    const { name, pid } = await startProgram(parts, {
      name: 'media-simulators',
      file: 'deploy/local/src/media/simulateMedia.ts',
      env: { BACKENDS: JSON.stringify(backends) },
      ports: backends.map(({ port }) => port),
    });
    return { name, pid, backends };
  };
  return { listed: writeMediaBackendsFile(mediaBackendsFile, backends, { portOf }), ready: start() };
}

/** The databases of these services, with the roles that work with them and those that migrate them. */
function listDatabases(services: DatabaseService[], passwords: LocalSecrets['databasePasswords']): ServiceDatabase[] {
  const roleOf = <Name extends keyof typeof passwords>(name: Name) => ({ name, password: passwords[name] ?? '' });
  return services.map((service) => {
    const { database } = SERVICES[service];
    return { ...roleOf(database.name), owner: 'owner' in database ? roleOf(database.owner) : undefined };
  });
}
