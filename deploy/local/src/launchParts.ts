import { join } from 'node:path';
import type { CatalogModel } from '@turnpike/catalog-snapshot/catalogSnapshot';
import type { LaunchedEngine, LaunchingEngines } from './engines/launchedEngine.ts';
import { launchRealEngines } from './engines/launchRealEngines.ts';
import { launchSimulators } from './engines/launchSimulators.ts';
import type { EnginePlan } from './engines/planEngines.ts';
import { DATABASES, type DatabaseService, migrateDatabase } from './parts/migrateDatabase.ts';
import { startKafka } from './parts/startKafka.ts';
import { startPostgres } from './parts/startPostgres.ts';
import { startRedis } from './parts/startRedis.ts';
import { startService } from './parts/startService.ts';
import type { Part, Parts } from './process/startParts.ts';
import { seedWorkspace } from './seedWorkspace.ts';
import type { ServiceName } from './stackPorts.ts';
import { type StackSettings, toDatabaseUrl, toServiceEnvironments, toServiceUrls } from './toServiceEnvironments.ts';

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
  const serve = (service: ServiceName) =>
    timed(service, () =>
      startService({ parts, service, internalUrl: urls[service].internalUrl, env: environments[service] }),
    );

  const postgres = timed('postgres', () =>
    startPostgres({
      parts,
      dataDir: join(dataDir, 'postgres'),
      port: ports.postgres,
      password: secrets.postgresPassword,
      databases: Object.values(DATABASES).map((name) => ({ name, password: secrets.databasePasswords[name] })),
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
          }),
        );
  const ready = timed('engines', () => engines.ready);

  const serveOnDatabase = async (service: DatabaseService, needs: Promise<unknown>[]) => {
    await postgres;
    await migrateDatabase(parts, service, toDatabaseUrl(service, settings));
    await Promise.all(needs);
    return serve(service);
  };
  const auth = serveOnDatabase('auth', []);
  const catalog = serveOnDatabase('catalog', [engines.listed]);
  const ledger = serveOnDatabase('usage-ledger', [kafka]);
  const router = Promise.all([redis, kafka, engines.listed]).then(() => serve('model-router'));
  const edge = serve('edge');
  const seed = Promise.all([auth, ledger]).then(() =>
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
  };
}

function launchEngines({ parts, plan, settings, engineStateDir, say }: LaunchOptions): LaunchingEngines {
  const { ports, catalogFile, enginesFile } = settings;
  if (plan.kind === 'simulated') return launchSimulators({ parts, models: plan.models, ports, enginesFile });
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
