import { join } from 'node:path';
import type { Region } from '@turnpike/config/region';
import { DATABASE_SERVICES } from '@turnpike/config/services';
import { buildDashboard } from '@turnpike/dashboard/buildDashboard';
import { describeStack } from './describeStack.ts';
import { countSimulated, planEngines } from './engines/planEngines.ts';
import { findBusyPort } from './findBusyPort.ts';
import { type LaunchedParts, type LaunchOptions, launchParts, type Progress } from './launchParts.ts';
import { type ListedModel, listModels } from './listModels.ts';
import { loadLocalSecrets } from './localSecrets.ts';
import type { Observation } from './observation.ts';
import { migrateDatabase } from './parts/migrateDatabase.ts';
import { setLogsAside } from './process/setLogsAside.ts';
import { type Part, type PartEnd, type Parts, startParts, toPartEndText } from './process/startParts.ts';
import { repositoryRoot } from './repositoryRoot.ts';
import { StackError } from './stackError.ts';
import { linkStackFile, type StackDescription, writeStackFile } from './stackFile.ts';
import { type LinkReplica, listLinks, listReplicas, type OpenLink, openLinks } from './stackLinks.ts';
import { takeStackLock } from './stackLock.ts';
import { listPorts, toStackPorts } from './stackPorts.ts';
import { ensureJars } from './tools/ensureJars.ts';
import { ensureFfmpeg, ensureRedisServer } from './tools/installDebianPackages.ts';
import { toPartEnvironment } from './toPartEnvironment.ts';
import { type ServiceSettings, toMigrationEnvironment } from './toServiceEnvironments.ts';
import { waitFor } from './waitFor.ts';

/** How long the ports of a stack whose launcher was killed may stay taken: its reaper is ending the parts. */
const ABANDONED_PORTS_TIMEOUT_MS = 10_000;
const MODELS_TIMEOUT_MS = 20_000;
/** A client may list the models 120 times a minute. */
const MODELS_INTERVAL_MS = 250;

export interface StackOptions {
  /** First of the stack's ports. */
  portBase: number;
  /** Folder of everything the stack keeps: data, secrets, logs. */
  stateDir: string;
  /** A symbolic link that leads to the description of the stack that started last, as long as one runs. */
  link?: string;
  /** Whether the event log is a real Kafka broker. */
  kafka: boolean;
  /** Whether objects are kept by a real S3 server, in place of a folder. */
  s3?: boolean;
  /** Addresses of real engines, whose models become the region's. Where none is given those of the catalog are simulated. */
  engines?: string[];
  /** The region's models, simulated but for media models; the repository's catalog of region `us` where it is not given. */
  catalogFile?: string;
  /** The region of its services, `us` where it is not given. Its description lists any region as `us` so far. */
  region?: Region;
  /** How much the services log, and where they send traces; their defaults where it is not given. */
  observation?: Observation;
  /** Variables of single services, in place of what the stack gives them: tests shorten deadlines. */
  serviceSettings?: ServiceSettings;
  /** Folder of the services' code, which may change between two starts of a part; this repository where it is not given. */
  root?: string;
  /** Processes of each service, one where it is not given. Between several `openLink` has to balance. */
  replicas?: number;
  /** Stands between services and what they connect to; where it is not given they connect to each other. */
  openLink?: OpenLink;
  /** Aborted, it ends a start-up under way. */
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
  /** Told in a line what was found or assumed, and before something that takes long, such as an installation. */
  say?: (line: string) => void;
  /** Called for every part that ends by itself once the stack runs; the rest goes on. */
  onPartEnd?: (end: PartEnd) => void;
}

export interface RunningStack {
  stack: StackDescription;
  parts: LaunchedParts;
  models: ListedModel[];
  /** Every edge process, by the listener that clients use. */
  edges: LinkReplica[];
  /** Starts a part that has ended again, with the settings and the data it had, and resolves when it is ready. */
  restart(part: string, env?: Record<string, string>): Promise<Part>;
  /** Brings every database up to date with the services' code. */
  migrate(): Promise<void>;
  /** Starts a process by the command of a part, under another name and with other variables. Waits for nothing. */
  startLike: Parts['startLike'];
  /**
   * Stops every part and resolves when no process of the stack is left. Streams that are open may end first, for some
   * seconds, unless `hurry` is aborted.
   */
  stop(hurry?: AbortSignal): Promise<void>;
}

/**
 * Starts a whole region on this machine and resolves when a client's call would be answered; `stack.json` in the state
 * directory then says how to reach it. Throws a `StackError` that says what to do if anything is in the way, or if a part
 * does not come up, and leaves nothing running.
 */
export async function startStack(options: StackOptions): Promise<RunningStack> {
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

type Launch = Pick<LaunchOptions, 'plan' | 'settings' | 'root' | 'dataDir' | 'kafkaJarDir' | 's3JarDir'>;

/** What a stack keeps, by the event log and the object store that it runs with. */
const DATA_KINDS = ['embedded', 'kafka', 'embedded-s3', 'kafka-s3'] as const;
type DataKind = (typeof DATA_KINDS)[number];

/** Everything that can be in the way is looked at before anything is started. */
async function prepareLaunch(options: StackOptions, { portsTimeoutMs }: { portsTimeoutMs: number }): Promise<Launch> {
  const { portBase, stateDir, kafka, s3 = false, signal, say = () => undefined } = options;
  const plan = await planEngines({ engines: options.engines ?? [], catalogFile: options.catalogFile, signal });
  const ports = toStackPorts(portBase, { ...countSimulated(plan), replicas: options.replicas });
  const entries = listPorts(ports, { kafka, s3 });
  const areFree = async () => ((await findBusyPort(entries)) ? undefined : true);
  if (!(await waitFor(areFree, { timeoutMs: portsTimeoutMs }))) {
    const busy = await findBusyPort(entries);
    throw new StackError(
      `Port ${busy?.port}, for ${busy?.part}, is in use by another process. Stop that, or choose other ports: PORT_BASE=${portBase + 100} npm start`,
    );
  }
  await ensureRedisServer(say);
  await ensureFfmpeg(say);
  await buildDashboard(say);
  const kafkaJarDir = kafka ? await ensureJars('kafka', say) : undefined;
  const s3JarDir = s3 ? await ensureJars('s3proxy', say) : undefined;
  const secretsFile = join(stateDir, 'secrets.json');
  const region = options.region ?? 'us';
  const secrets = await loadLocalSecrets(secretsFile, {
    region,
    dataDirs: DATA_KINDS.map((kind) => join(stateDir, `data-${kind}`)),
  });
  // The ledger has read each of the two event logs up to some offset that means nothing in the other, and a job's objects are in one
  // of the two stores.
  const kind: DataKind = `${kafka ? 'kafka' : 'embedded'}${s3 ? '-s3' : ''}`;
  const dataDir = join(stateDir, `data-${kind}`);
  const settings = {
    region,
    ports,
    secrets,
    secretsFile,
    catalogFile: plan.kind === 'simulated' ? plan.catalogFile : join(stateDir, 'engine-catalog.json'),
    enginesFile: join(stateDir, 'engines.json'),
    mediaBackendsFile: join(stateDir, 'media-backends.json'),
    dataDir,
    s3,
    kafkaBrokers: kafka ? `127.0.0.1:${ports.kafka}` : undefined,
    observation: options.observation ?? {},
    serviceSettings: options.serviceSettings ?? {},
    portOf: await openLinks(listLinks(ports, { kafka, s3 }), options.openLink ?? (async ({ port }) => port)),
  };
  const { root = repositoryRoot } = options;
  return { plan, settings, root, dataDir, kafkaJarDir, s3JarDir };
}

async function runLaunch(options: StackOptions, launch: Launch): Promise<RunningStack> {
  const ignore = () => undefined;
  const { stateDir, link, signal, onProgress = ignore, onPartEnd = ignore, say = ignore } = options;
  const failure = new AbortController();
  const endSignal = signal ? AbortSignal.any([signal, failure.signal]) : failure.signal;
  let isUp = false;
  const logDir = join(stateDir, 'logs');
  await setLogsAside(logDir);
  const parts = startParts({
    logDir,
    env: toPartEnvironment(),
    signal: endSignal,
    // While it starts, one part's end is the end of all; once it runs, the rest goes on, as it does in production.
    onUnexpectedEnd: (end) => (isUp ? onPartEnd(end) : failure.abort(new StackError(toPartEndText(end)))),
  });
  try {
    const launched = await launchParts({ ...launch, parts, onProgress, say });
    const stack = describeStack(launch.settings, launched);
    const ofMedia = new Set(launched.media?.backends.map(({ model }) => model));
    const models = await untilModelsReady(stack, launched.models.length + ofMedia.size, endSignal);
    const stackFile = join(stateDir, 'stack.json');
    parts.removeAtEnd(stackFile);
    await writeStackFile(stackFile, stack);
    if (link !== undefined) {
      parts.unlinkAtEnd(link, stackFile);
      await linkStackFile(link, stackFile);
    }
    endSignal.throwIfAborted();
    isUp = true;
    const edges = listReplicas(launch.settings.ports, 'edge', 'port');
    return {
      stack,
      parts: launched,
      models,
      edges,
      restart: parts.restart,
      async migrate() {
        const { settings, root } = launch;
        for (const service of DATABASE_SERVICES)
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

/** Waits until a client sees every model ready: the last thing to come, through edge, catalog, router and engines. */
async function untilModelsReady(
  { regions }: StackDescription,
  modelCount: number,
  signal: AbortSignal,
): Promise<ListedModel[]> {
  const { base_url: baseUrl, api_key: apiKey } = regions.us;
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
