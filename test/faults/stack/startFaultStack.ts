import { mkdtemp, readFile, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Region } from '@turnpike/config/region';
import type { InternalService } from '@turnpike/config/services';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import type { StackDescription } from '@turnpike/local-stack/stackFile';
import type { RunningStack, StackOptions } from '@turnpike/local-stack/startStack';
import { startStackSomewhere } from '@turnpike/local-stack/startStackSomewhere';
import { mergeSettings } from '@turnpike/local-stack/toServiceEnvironments';
import { waitFor } from '@turnpike/local-stack/waitFor';
import { startRedisCluster, type TestRedisCluster } from '@turnpike/test-support/startRedisCluster';
import { Cluster, Redis } from 'ioredis';
import pg from 'pg';
import { request } from 'undici';
import { z } from 'zod';
import type { BookedStack } from './bookedStack.ts';
import { ClusterPart } from './clusterPart.ts';
import { MEDIA_MODELS, MODELS, toCatalogText } from './faultCatalog.ts';
import { Links } from './links.ts';
import { MediaBackend } from './mediaBackends.ts';
import { createOperator } from './operator.ts';
import { PartControl } from './partControl.ts';
import { PaymentsSimulator } from './paymentsSimulator.ts';
import { Simulator } from './simulators.ts';

/** A short lease, so that what a crash leaves behind is swept within seconds. */
export const LEASE_MS = 5_000;

/** Deadlines a cell can wait for, and limits no cell is about. */
const SERVICE_SETTINGS = {
  edge: { LIMITS: { FLOOD_REQUESTS_PER_MINUTE: 100_000_000, FLOOD_BURST: 100_000_000 } },
  'model-router': {
    // A machine that runs two stacks and their clients on two cores is no Redis or auth that is away.
    REDIS_TIMEOUT_MS: '1000',
    AUTH_TIMEOUT_MS: '2000',
    LIMITS: {
      LEASE_MS,
      SPOOL_MAX_BYTES: 16_777_216,
      FIRST_EVENT_TIMEOUT_MS: 6_000,
      BETWEEN_EVENTS_TIMEOUT_MS: 3_000,
      WHOLE_TIMEOUT_MS: 10_000,
      STREAM_TIMEOUT_MS: 30_000,
    },
  },
  'media-jobs': {
    REDIS_TIMEOUT_MS: '1000',
    AUTH_TIMEOUT_MS: '2000',
    // No cell is about what one key may have under way, or ask.
    LIMITS: { LEASE_MS, ACTIVE_JOBS_PER_KEY: 100, LOOK_UPS_PER_SECOND: 1_000 },
  },
} satisfies StackOptions['serviceSettings'];

/** Name of the link to the services' code. */
const CODE = 'code';
const QUERY_TIMEOUT_MS = 10_000;
const READY_WITHIN_MS = 30_000;
const READY_TIMEOUT_MS = 2_000;

export interface FaultStackOptions {
  eventLog: 'kafka' | 'embedded';
  /** On top of what every fault stack has. */
  serviceSettings?: NonNullable<StackOptions['serviceSettings']>;
  region: Region;
  /** Processes of each service. */
  replicas: number;
  /** Whether the router counts on a Redis Cluster, in place of the stack's own Redis. */
  cluster: boolean;
  /** Whether objects lie on an S3 server, with a proxy before it, in place of a folder. */
  s3: boolean;
  /** Folder of the services' code, until another one is taken; this repository where it is not given. */
  root?: string | undefined;
  signal: AbortSignal;
}

/** A whole region with a proxy on every link, whose parts can be killed, frozen and started again. */
export interface FaultStack extends BookedStack {
  region: Region;
  /** All addresses. */
  description: StackDescription;
  /** The payment processor of the account layer. */
  payments: PaymentsSimulator;
  /** The database of the account layer. */
  account: pg.Pool;
  stateDir: string;
  /** The folder of the stores. */
  dataDir: string;
  kafkaBrokers: string | null;
  catalogFile: string;
  parts: PartControl;
  links: Links;
  /** The server of all databases, as the one who may see them. */
  postgresUrl: string;
  /** The address of Redis, with its password. */
  readonly redisUrl: string;
  /** Another Redis has taken over: it is looked at from now on. */
  lookAtRedis(url: string): void;
  /** Address by which services of the fleet read what the edge does not serve. */
  internalUrlOf(service: InternalService): string;
  /** The description of the stack for the operator's command line. */
  stackFile: string;
  /** Returns the folder of the services' code. */
  codeRoot(): Promise<string>;
  /** Takes it from another folder: what is started from now on. */
  runFrom(root: string): Promise<void>;
  /** Brings every database up to date with the services' code. */
  migrate(): Promise<void>;
  /** Undoes every fault, whoever caused it. */
  mend(): Promise<void>;
  /** Something that a cell has started ends with the stack. */
  stopLater(stop: () => Promise<void>): void;
  stop(): Promise<void>;
}

export async function startFaultStack(options: FaultStackOptions): Promise<FaultStack> {
  const stateDir = await mkdtemp(join(tmpdir(), 'turnpike-faults-'));
  const links = new Links();
  const cluster = options.cluster ? await startRedisCluster() : undefined;
  const removeAll = async () => {
    await links.close();
    await cluster?.stop();
    await rm(stateDir, { recursive: true, force: true });
  };
  try {
    const catalogFile = join(stateDir, 'catalog.yaml');
    const { eventLog, region, serviceSettings = {}, replicas, s3, root = repositoryRoot, signal } = options;
    await writeFile(catalogFile, toCatalogText(0, region));
    await symlink(root, join(stateDir, CODE));
    const running = await startStackSomewhere<Region>({
      stateDir,
      regions: [region],
      kafka: eventLog === 'kafka',
      s3,
      catalogFile,
      observation: { LOG_LEVEL: 'info' },
      serviceSettings: mergeSettings(
        mergeSettings(SERVICE_SETTINGS, serviceSettings),
        cluster ? { 'model-router': toRedis(cluster), 'media-jobs': toRedis(cluster) } : {},
      ),
      replicas,
      root: join(stateDir, CODE),
      openLink: (link) => links.open(link),
      signal,
    });
    return await describe(running, { ...options, cluster, stateDir, catalogFile, links, removeAll });
  } catch (error) {
    await removeAll();
    throw error;
  }
}

const toRedis = ({ masters }: TestRedisCluster) => ({ REDIS_URL: masters.map(({ url }) => url).join(',') });

async function describe(
  running: RunningStack<Region>,
  {
    eventLog,
    region,
    s3,
    replicas,
    cluster,
    stateDir,
    catalogFile,
    links,
    removeAll,
  }: Omit<FaultStackOptions, 'cluster'> & {
    cluster: TestRedisCluster | undefined;
    stateDir: string;
    catalogFile: string;
    links: Links;
    removeAll: () => Promise<void>;
  },
): Promise<FaultStack> {
  const home = running.stack.regions[region];
  const secretsText = await readFile(home.secrets_file, 'utf8');
  const secrets = z.object({ internalKeys: z.object({ operator: z.string() }) }).parse(JSON.parse(secretsText));
  const poolOf = (database: string): pg.Pool => {
    const connectionString = home.postgres_url.replace(/\/postgres$/, `/${database}`);
    const pool = new pg.Pool({ connectionString, max: 4, query_timeout: QUERY_TIMEOUT_MS });
    return pool.on('error', () => undefined); // Postgres is killed on purpose
  };
  const [ledger, catalog, media] = [poolOf('ledger'), poolOf('catalog'), poolOf('media')];
  const account = poolOf('account');
  let redisUrl = home.redis_url;
  let redis = cluster ? openCluster(cluster) : openRedis(redisUrl);
  const parts = new PartControl(running, cluster && new ClusterPart(cluster));
  const simulators = home.simulator_admin_urls.map((url) => new Simulator(url));
  const mediaBackends = home.media_backends.map((backend) => new MediaBackend(backend));
  const payments = new PaymentsSimulator(running.stack.account.payments_admin_url);
  const mend = async () => {
    await parts.mend();
    await links.mend();
    await Promise.all([...simulators, ...mediaBackends, payments].map((simulator) => simulator.mend()));
  };
  await mend();
  const others: (() => Promise<void>)[] = [];
  return {
    region,
    baseUrl: replicas === 1 ? home.base_url : `http://127.0.0.1:${await links.openClients(running.edges)}/v1`,
    models: MODELS,
    mediaModels: MEDIA_MODELS,
    leaseMs: LEASE_MS,
    struckAt: parts.struckAt,
    description: running.stack,
    payments,
    account,
    stateDir,
    stackFile: join(stateDir, 'stack.json'),
    dataDir: join(stateDir, `data-${eventLog}${s3 ? '-s3' : ''}`),
    kafkaBrokers: home.kafka_brokers,
    catalogFile,
    parts,
    links,
    simulators,
    mediaBackends,
    operator: createOperator(home.services, secrets.internalKeys.operator),
    ledger,
    catalog,
    media,
    postgresUrl: home.postgres_url,
    get redis() {
      return redis;
    },
    get redisUrl() {
      return redisUrl;
    },
    lookAtRedis(url) {
      redis.disconnect();
      redisUrl = url;
      redis = openRedis(url);
    },
    internalUrlOf: (service) => home.services[service].internal_url,
    codeRoot: () => readlink(join(stateDir, CODE)),
    async runFrom(root) {
      await symlink(root, join(stateDir, `${CODE}.next`));
      await rename(join(stateDir, `${CODE}.next`), join(stateDir, CODE));
    },
    migrate: () => running.migrate(),
    async untilReady() {
      const urls = Object.values(home.services).map((service) => `${service.internal_url}/ready`);
      const areReady = async () => (await Promise.all(urls.map(isReady))).every(Boolean) || undefined;
      if (!(await waitFor(areReady, { timeoutMs: READY_WITHIN_MS }))) throw new Error('a service is not ready');
    },
    mend,
    stopLater: (stop) => void others.push(stop),
    async stop() {
      parts.thawAll();
      redis.disconnect();
      await Promise.all([ledger, catalog, media, account].map((pool) => pool.end()));
      await running.stop(AbortSignal.abort());
      await Promise.all(others.map((stop) => stop()));
      await removeAll();
    },
  };
}

const REDIS_OPTIONS = { maxRetriesPerRequest: 0, enableOfflineQueue: true, commandTimeout: 2_000 };

function openCluster({ masters }: TestRedisCluster): Cluster {
  const urls = masters.map(({ url }) => url);
  return new Cluster(urls, { redisOptions: REDIS_OPTIONS }).on('error', () => undefined);
}

function openRedis(url: string): Redis {
  const redis = new Redis(url, REDIS_OPTIONS);
  return redis.on('error', () => undefined); // Redis is killed on purpose
}

async function isReady(url: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(url, { signal: AbortSignal.timeout(READY_TIMEOUT_MS) });
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  }
}
