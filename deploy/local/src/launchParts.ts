import { join } from 'node:path';
import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import type { LaunchedEngine, LaunchingEngines } from './engines/launchedEngine.ts';
import { launchRealEngines } from './engines/launchRealEngines.ts';
import { launchSimulators } from './engines/launchSimulators.ts';
import type { EnginePlan } from './engines/planEngines.ts';
import type { LocalSecrets } from './localSecrets.ts';
import { DATABASE_OWNERS, DATABASES, type DatabaseService, migrateDatabase } from './parts/migrateDatabase.ts';
import { startKafka } from './parts/startKafka.ts';
import { type ServiceDatabase, startPostgres } from './parts/startPostgres.ts';
import { startRedis } from './parts/startRedis.ts';
import { startService } from './parts/startService.ts';
import type { Part, Parts } from './process/startParts.ts';
import { seedWorkspace } from './seedWorkspace.ts';
import { SERVICES, type ServiceName } from './stackPorts.ts';
import {
  type StackSettings,
  toMigrationEnvironment,
  toReplicaEnvironment,
  toServiceEnvironments,
  toServiceUrls,
} from './toServiceEnvironments.ts';

const KAFKA_CLIENTS = ['model-router', 'usage-ledger'] as const;

/** One part has become ready. */
export interface Progress {
  part: string;
  tookMs: number;
}

export interface LaunchOptions {
  parts: Parts;
  settings: StackSettings;
  plan: EnginePlan;
  /** Folder of what the stores keep. */
  dataDir: string;
  /** Folder of what tiny engines keep. */
  engineStateDir: string;
  /** Folder of the broker's jars; undefined where the event log is the embedded one. */
  kafkaJarDir: string | undefined;
  onProgress: (progress: Progress) => void;
  say: (line: string) => void;
}

export interface LaunchedParts {
  stores: Part[];
  engines: LaunchedEngine[];
  services: Record<ServiceName, Part>;
  /** Further processes of services, where there are several of each: `edge-2` and so on. */
  replicas: Part[];
  /** Those that have an engine. */
  models: CatalogModel[];
}

/** Starts everything, each part as soon as what it cannot start without is there, and resolves when all of it is ready. */
export async function launchParts(options: LaunchOptions): Promise<LaunchedParts> {
  const { parts, settings, dataDir, kafkaJarDir, onProgress } = options;
  const { ports, secrets } = settings;
  const urls = toServiceUrls(ports);
  const environments = toServiceEnvironments(settings);
  const engines = launchEngines(options);

  async function timed<Result>(part: string, start: () => Promise<Result>): Promise<Result> {
    const startedAt = performance.now();
    const result = await start();
    onProgress({ part, tookMs: performance.now() - startedAt });
    return result;
  }
  const serve = (service: ServiceName, untilServed?: () => Promise<unknown>) =>
    timed(service, () =>
      startService({
        parts,
        service,
        name: service,
        internalUrl: urls[service].internalUrl,
        env: environments[service],
        ...(untilServed && { untilServed }),
      }),
    );
  const replicate = (service: ServiceName) =>
    ports.replicas[service].map((replicaPorts, index) => {
      const name = `${service}-${index + 2}`;
      const env = toReplicaEnvironment(environments[service], { ports: replicaPorts, name });
      const internalUrl = `http://127.0.0.1:${replicaPorts.internalPort}`;
      return timed(name, () => startService({ parts, service, name, internalUrl, env }));
    });

  const postgres = timed('postgres', () =>
    startPostgres({
      parts,
      dataDir: join(dataDir, 'postgres'),
      port: ports.postgres,
      password: secrets.postgresPassword,
      databases: listDatabases(secrets.databasePasswords),
    }),
  );
  const redis = timed('redis', () =>
    startRedis({ parts, dataDir: join(dataDir, 'redis'), port: ports.redis, password: secrets.redisPassword }),
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
            listeners: KAFKA_CLIENTS.map((client) => {
              const port = ports.kafkaListeners[client];
              return { port, advertisedPort: settings.portOf(client, port) };
            }),
          }),
        );
  const ready = timed('engines', () => engines.ready);

  const serveOnDatabase = async (service: DatabaseService, needs: Promise<unknown>[]) => {
    await postgres;
    await migrateDatabase(parts, service, toMigrationEnvironment(service, settings));
    await Promise.all(needs);
    return serve(service);
  };
  const auth = serveOnDatabase('auth', []);
  const catalog = serveOnDatabase('catalog', [engines.listed]);
  const ledger = serveOnDatabase('usage-ledger', [kafka]);
  // Started beside the services it asks: it is ready when they have answered.
  const router = Promise.all([redis, kafka, engines.listed]).then(() =>
    serve('model-router', () => Promise.all([catalog, ledger])),
  );
  const edge = serve('edge');
  // A workspace that was there before has keys, of which the router is told.
  const seed = Promise.all([auth, ledger, router]).then(() =>
    seedWorkspace({
      auth: urls.auth,
      ledger: urls['usage-ledger'],
      apiKey: secrets.apiKey,
      internalTokenKeys: secrets.internalTokenKeys,
    }),
  );

  const [stores, launchedEngines, models, services] = await Promise.all([
    Promise.all([postgres, redis, kafka]),
    ready,
    engines.listed,
    Promise.all([edge, auth, catalog, router, ledger]),
    seed,
  ]);
  const replicas = await Promise.all(SERVICES.flatMap(replicate));
  const [edgePart, authPart, catalogPart, routerPart, ledgerPart] = services;
  return {
    stores: stores.filter((part) => part !== undefined),
    engines: launchedEngines,
    models,
    services: {
      edge: edgePart,
      auth: authPart,
      catalog: catalogPart,
      'model-router': routerPart,
      'usage-ledger': ledgerPart,
    },
    replicas,
  };
}

function launchEngines({ parts, plan, settings, engineStateDir, say }: LaunchOptions): LaunchingEngines {
  const { ports, catalogFile, enginesFile, portOf } = settings;
  if (plan.kind === 'simulated') return launchSimulators({ parts, models: plan.models, ports, enginesFile, portOf });
  return launchRealEngines({
    parts,
    engines: plan.engines,
    tinyPorts: ports.tinyEngines,
    tinyStateDir: engineStateDir,
    catalogFile,
    enginesFile,
    say,
  });
}

function listDatabases(passwords: LocalSecrets['databasePasswords']): ServiceDatabase[] {
  const roleOf = <Name extends keyof typeof passwords>(name: Name) => ({ name, password: passwords[name] });
  return Object.values(DATABASES).map((name) => ({
    ...roleOf(name),
    owner: name === DATABASES['usage-ledger'] ? roleOf(DATABASE_OWNERS['usage-ledger']) : undefined,
  }));
}
