import { join } from 'node:path';
import type { Region } from '@turnpike/config/region';
import {
  DATABASE_SERVICES,
  GLOBAL_SERVICES,
  REGION_DATABASE_SERVICES,
  REGION_SERVICES,
  SERVICE_NAMES,
} from '@turnpike/config/services';
import { buildDashboard } from '@turnpike/dashboard/buildDashboard';
import { describeStack, type LaunchedRegion } from './describeStack.ts';
import type { EngineChoice } from './engines/engineChoice.ts';
import { countSimulated, planEngines } from './engines/planEngines.ts';
import { findBusyPort } from './findFreePorts.ts';
import { type LaunchedParts, type LaunchOptions, launchParts, type Progress } from './launchParts.ts';
import { type ListedModel, listModels } from './listModels.ts';
import { type LocalSecrets, loadLocalSecrets, toPublicKeys } from './localSecrets.ts';
import { migrateDatabase } from './parts/migrateDatabase.ts';
import { type Part, type PartEnd, type Parts, setLogsAside, startParts, toPartEndText } from './process/startParts.ts';
import { repositoryRoot } from './repositoryRoot.ts';
import { StackError } from './stackError.ts';
import { linkStackFile, type StackDescription, type StackRegion, writeStackFile } from './stackFile.ts';
import { type LinkReplica, listLinks, listReplicas, type OpenLink, openLinks } from './stackLinks.ts';
import { takeStackLock } from './stackLock.ts';
import { listPorts, PORTS_PER_REGION, toStackPorts, withAccountOf } from './stackPorts.ts';
import { ensureJars } from './tools/ensureJars.ts';
import { ensureFfmpeg, ensureRedisServer } from './tools/installDebianPackages.ts';
import type { Observation } from './toPartEnvironment.ts';
import { toPartEnvironment } from './toPartEnvironment.ts';
import { type ServiceSettings, type StackSettings, toMigrationEnvironment } from './toServiceEnvironments.ts';
import { waitFor } from './waitFor.ts';

/** Longest time that ports of a killed launcher may stay in use, while its reaper ends the parts. */
const ABANDONED_PORTS_TIMEOUT_MS = 10_000;
/**
 * Longest wait for all models. A part may take as long, and catalog, router and engines learn of each other in turn.
 */
const MODELS_TIMEOUT_MS = 90_000;
/** A client may list the models 120 times a minute. */
const MODELS_INTERVAL_MS = 250;

export interface StackOptions<Name extends Region = 'us'> {
  /** First of the stack's ports. */
  portBase: number;
  /** The regions, each with its own services and stores; default `us` alone. The first region has the account layer. */
  regions?: Name[];
  /** Folder of all data, secrets and logs of the stack. */
  stateDir: string;
  /** A symbolic link to the description of the stack that started last, while one runs. */
  link?: string;
  /** Whether the event log is a real Kafka broker. */
  kafka: boolean;
  /** Whether a real S3 server stores objects, instead of a folder. */
  s3?: boolean;
  /**
   * Whether the data may be lost with the machine, as those of tests. Then Postgres and Redis wait for no disk. The end of a
   * process loses nothing.
   */
  isScratch?: boolean;
  /**
   * Real engines, whose models become the text models of a single region. Without any, the catalog's models are
   * simulated. The abilities of an engine given as an address alone are not tested, and no media are simulated beside
   * it.
   */
  engines?: (string | EngineChoice)[];
  /**
   * Catalog file of the first region, whose models are simulated except for media models. Default: the repository's
   * catalog of the region.
   */
  catalogFile?: string;
  /** Log level and trace target of the services; default: their own defaults. */
  observation?: Observation;
  /** Variables of single services that override the stack's. Tests shorten deadlines with them. */
  serviceSettings?: ServiceSettings;
  /** Folder of the services' code, which may change between two starts of a part. Default: this repository. */
  root?: string;
  /** Processes of each service, default one. With several, `openLink` has to balance. */
  replicas?: number;
  /** Opens a link between services and what they connect to. Without it they connect directly. */
  openLink?: OpenLink;
  /** Ends a start-up in progress when aborted. */
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
  /** Receives one line for each finding or assumption, and before a long step such as an installation. */
  say?: (line: string) => void;
  /** Called for every part that ends by itself once the stack runs. The other parts continue. */
  onPartEnd?: (end: PartEnd) => void;
}

/** A region that runs. */
export interface RunningRegion {
  parts: LaunchedParts;
  /** The models in the list for clients. */
  models: ListedModel[];
}

export interface RunningStack<Name extends Region = 'us'> {
  stack: StackDescription<Name>;
  /** The parts of the first region, and those that all regions share. */
  parts: LaunchedParts;
  regions: Record<Name, RunningRegion>;
  /** Every edge process of the first region, by its public listener. */
  edges: LinkReplica[];
  /** Starts an ended part again with its settings and data, and resolves when it is ready. */
  restart(part: string, env?: Record<string, string>): Promise<Part>;
  /** Stops a part if it runs, and starts it like `restart`. */
  replace: Parts['replace'];
  /** Migrates every database to the services' code. */
  migrate(): Promise<void>;
  /** Starts a process by the command of a part, with another name and other variables. Does not wait for readiness. */
  startLike: Parts['startLike'];
  /**
   * Stops every part and resolves when no process of the stack is left. Open streams may end first, for some seconds,
   * unless `hurry` is aborted.
   */
  stop(hurry?: AbortSignal): Promise<void>;
}

/**
 * Starts whole regions on this machine and resolves when each would answer a client's call. Then `stack.json` in the
 * state directory has their addresses. Throws a `StackError` with the next step if something is in the way, or if a
 * part does not start. Then no process is left.
 */
export async function startStack<Name extends Region = 'us'>(options: StackOptions<Name>): Promise<RunningStack<Name>> {
  const lock = await takeStackLock(options.stateDir, { portBase: options.portBase });
  try {
    const launch = await prepareLaunch(options, { portsTimeoutMs: lock.wasAbandoned ? ABANDONED_PORTS_TIMEOUT_MS : 0 });
    const running = await runLaunch(options, launch);
    return {
      ...running,
      async stop(hurry) {
        await running.stop(hurry);
        await lock.release();
      },
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

type RegionLaunch = Pick<
  LaunchOptions,
  'plan' | 'settings' | 'root' | 'dataDir' | 'isScratch' | 'kafkaJarDir' | 's3JarDir'
>;
type RegionPlan = Pick<RegionLaunch, 'plan'> & Pick<StackSettings, 'region' | 'ports'>;

/** The folders of a stack's data, by its event log and object store. */
const DATA_KINDS = ['embedded', 'kafka', 'embedded-s3', 'kafka-s3'] as const;
type DataKind = (typeof DATA_KINDS)[number];

/** Checks everything that may be in the way before any part is started. The first region has the account layer. */
async function prepareLaunch(
  options: StackOptions<Region>,
  { portsTimeoutMs }: { portsTimeoutMs: number },
): Promise<RegionLaunch[]> {
  const { stateDir, kafka, s3 = false, isScratch = false, root = repositoryRoot, say = () => undefined } = options;
  const planned = await planRegions(options);
  await untilPortsFree(planned, options, portsTimeoutMs);
  await ensureRedisServer(say);
  await ensureFfmpeg(say);
  await buildDashboard(say);
  const kafkaJarDir = kafka ? await ensureJars('kafka', say) : undefined;
  const s3JarDir = s3 ? await ensureJars('s3proxy', say) : undefined;
  // The data folder depends on the event log and the object store. The ledger's offsets in one event log mean nothing
  // in the other, and a job's objects are in one of the two stores.
  const kind: DataKind = `${kafka ? 'kafka' : 'embedded'}${s3 ? '-s3' : ''}`;
  const prepared = await Promise.all(
    planned.map(async (plan, index) => {
      const folder = index === 0 ? stateDir : join(stateDir, plan.region);
      const secretsFile = join(folder, 'secrets.json');
      const dataDirs = DATA_KINDS.map((each) => join(folder, `data-${each}`));
      const services = index === 0 ? SERVICE_NAMES : REGION_SERVICES;
      const secrets = await loadLocalSecrets(secretsFile, { scope: plan.region, services, dataDirs });
      return { ...plan, folder, services, secretsFile, secrets };
    }),
  );
  const isGlobal = (key: string): boolean => key.startsWith('global/');
  const globalKeys = Object.values(prepared[0]?.secrets.internalKeys ?? {}).filter(isGlobal);
  const keysOf = ({ secrets }: { secrets: LocalSecrets }): string[] =>
    Object.values(secrets.internalKeys).filter((key) => !isGlobal(key));

  return Promise.all(
    prepared.map(async ({ region, plan, ports, folder, services, secretsFile, secrets }) => {
      const dataDir = join(folder, `data-${kind}`);
      const settings = {
        region,
        regions: planned,
        ports,
        secrets,
        secretsFile,
        publicKeys: {
          region: toPublicKeys([...keysOf({ secrets }), ...globalKeys]),
          global: toPublicKeys([...prepared.flatMap(keysOf), ...globalKeys]),
        },
        catalogFile: plan.kind === 'simulated' ? plan.catalogFile : join(folder, 'engine-catalog.json'),
        enginesFile: join(folder, 'engines.json'),
        mediaBackendsFile: join(folder, 'media-backends.json'),
        dataDir,
        s3,
        kafkaBrokers: kafka ? `127.0.0.1:${ports.kafka}` : undefined,
        observation: options.observation ?? {},
        serviceSettings: options.serviceSettings ?? {},
        portOf: await openLinks(
          listLinks(ports, { services, kafka, s3 }),
          options.openLink ?? (async ({ port }) => port),
        ),
      };
      return { plan, settings, root, dataDir, isScratch, kafkaJarDir, s3JarDir };
    }),
  );
}

/** Returns the models and the ports of each region. */
async function planRegions(options: StackOptions<Region>): Promise<RegionPlan[]> {
  const { portBase, engines = [], catalogFile, replicas, signal, regions = ['us'] } = options;
  const planned: RegionPlan[] = [];
  for (const region of regions) {
    const [home] = planned;
    const plan = await planEngines({ region, engines, catalogFile: home ? undefined : catalogFile, signal });
    const firstPort = portBase + PORTS_PER_REGION * planned.length;
    const ports = toStackPorts(firstPort, { ...countSimulated(plan), replicas });
    planned.push({ region, plan, ports: home ? withAccountOf(home.ports, ports) : ports });
  }
  return planned;
}

/** Throws a `StackError` that names a port and its part if the port is still in use after `timeoutMs`. */
async function untilPortsFree(
  planned: RegionPlan[],
  { portBase, kafka, s3 = false }: StackOptions<Region>,
  timeoutMs: number,
): Promise<void> {
  // Regions share some ports.
  const byPort = new Map(planned.flatMap(({ ports }) => listPorts(ports, { kafka, s3 }).map((it) => [it.port, it])));
  const entries = [...byPort.values()];
  const areFree = async () => ((await findBusyPort(entries)) ? undefined : true);
  if (await waitFor(areFree, { timeoutMs })) return;
  const busy = await findBusyPort(entries);
  const next = portBase + PORTS_PER_REGION * planned.length;
  throw new StackError(
    `Port ${busy?.port}, for ${busy?.part}, is in use by another process. Stop that, or choose other ports: PORT_BASE=${next} npm start`,
  );
}

async function runLaunch(options: StackOptions<Region>, launches: RegionLaunch[]): Promise<RunningStack<Region>> {
  const ignore = () => undefined;
  const { stateDir, link, signal, onPartEnd = ignore } = options;
  const failure = new AbortController();
  const endSignal = signal ? AbortSignal.any([signal, failure.signal]) : failure.signal;
  let isUp = false;
  const logDir = join(stateDir, 'logs');
  await setLogsAside(logDir);
  const parts = startParts({
    logDir,
    env: toPartEnvironment(),
    signal: endSignal,
    // During the start the end of one part ends all. Later the others continue, as in production.
    onUnexpectedEnd: (end) => (isUp ? onPartEnd(end) : failure.abort(new StackError(toPartEndText(end)))),
  });
  try {
    const launched = await launchRegions(options, launches, parts);
    const [home] = launched;
    if (!home) throw new StackError('A stack has at least one region.');
    const stack = describeStack(home, launched);
    const models = await Promise.all(
      launched.map((region) => untilModelsReady(stack.regions[region.settings.region], region.launched, endSignal)),
    );
    const stackFile = join(stateDir, 'stack.json');
    parts.removeAtEnd(stackFile);
    await writeStackFile(stackFile, stack);
    if (link !== undefined) {
      parts.unlinkAtEnd(link, stackFile);
      await linkStackFile(link, stackFile);
    }
    endSignal.throwIfAborted();
    isUp = true;
    return {
      stack,
      parts: home.launched,
      regions: Object.fromEntries(
        launched.map(({ settings, launched: own }, index) => [
          settings.region,
          { parts: own, models: models[index] ?? [] },
        ]),
      ) as RunningStack<Region>['regions'],
      edges: listReplicas(home.settings.ports, 'edge', 'port'),
      restart: parts.restart,
      replace: parts.replace,
      async migrate() {
        for (const { settings, root } of launches)
          for (const service of settings === home.settings ? DATABASE_SERVICES : REGION_DATABASE_SERVICES)
            await migrateDatabase(parts, service, { env: toMigrationEnvironment(service, settings), root });
      },
      startLike: parts.startLike,
      stop: parts.stop,
    };
  } catch (error) {
    await parts.stop();
    throw error;
  }
}

/** The parts that all regions share, beside `GLOBAL_SERVICES`. */
const SHARED_PARTS: readonly string[] = [...GLOBAL_SERVICES, 'identity-provider', 'mail-catcher', 'payments-simulator'];

/**
 * Starts the regions one after the other, because two at once are slow to become ready on two cores. With several
 * regions, the names of a region's own parts begin with its name.
 */
async function launchRegions(
  { onProgress = () => undefined, say = () => undefined }: StackOptions<Region>,
  launches: RegionLaunch[],
  parts: Parts,
): Promise<LaunchedRegion[]> {
  const launched: LaunchedRegion[] = [];
  for (const launch of launches) {
    const { region } = launch.settings;
    const nameOf = (part: string) =>
      launches.length === 1 || SHARED_PARTS.includes(part) ? part : `${region}-${part}`;
    const own = await launchParts({
      ...launch,
      parts: { ...parts, start: (command) => parts.start({ ...command, name: nameOf(command.name) }) },
      home: launched[0]?.launched,
      onProgress: ({ part, tookMs }) => onProgress({ part: nameOf(part), tookMs }),
      say,
    });
    launched.push({ settings: launch.settings, launched: own });
  }
  return launched;
}

/**
 * Waits until a client of a region sees every model as ready. That is the last step, through edge, catalog, router and
 * engines.
 */
async function untilModelsReady(
  { base_url: baseUrl, api_key: apiKey }: StackRegion,
  { models: ofText, media }: LaunchedParts,
  signal: AbortSignal,
): Promise<ListedModel[]> {
  const modelCount = ofText.length + new Set(media?.backends.map(({ model }) => model)).size;
  const models = await waitFor(
    async () => {
      const listed = await listModels(baseUrl, apiKey).catch(() => undefined);
      return listed?.filter((model) => model.is_ready).length === modelCount ? listed : undefined;
    },
    { timeoutMs: MODELS_TIMEOUT_MS, intervalMs: MODELS_INTERVAL_MS, signal },
  );
  if (models) return models;
  throw new StackError(
    `All parts run, but not every model became ready within ${MODELS_TIMEOUT_MS / 1000} s: GET ${baseUrl}/models. The logs of catalog, model-router and media-jobs say why.`,
  );
}
