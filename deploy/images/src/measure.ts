import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DatabaseService, isDatabaseService, type ServiceName } from '@turnpike/config/services';
import { listDatabases } from '@turnpike/local-stack/launchParts';
import { loadLocalSecrets } from '@turnpike/local-stack/localSecrets';
import { formatTable } from '@turnpike/local-stack/report/formatTable';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { StackError } from '@turnpike/local-stack/stackError';
import { toStackPorts } from '@turnpike/local-stack/stackPorts';
import {
  S3,
  type StackSettings,
  toMigrationEnvironment,
  toServiceEnvironments,
  toServiceUrls,
} from '@turnpike/local-stack/toServiceEnvironments';
import { waitFor } from '@turnpike/local-stack/waitFor';
import { createBuilder } from './buildImages.ts';
import { IMAGES } from './images.ts';
import { type StartedImage, type StartOptions, startImage } from './measure/startImage.ts';

const READY_TIMEOUT_MS = 60_000;
const ASK_EVERY_MS = 10;
/** How a process ends that SIGTERM ended, and how a JVM always does then. */
const ENDED_BY_SIGTERM = 143;
const NETWORK_IS_OWN = 'TURNPIKE_MEASURES';
const ENGINE_PORT = 11_000;
const MEDIA_PORT = 11_001;
const [TEXT_MODEL, SPEECH_MODEL] = ['llama-3.3-70b-instruct', 'kokoro-82m'];
/** The services in an order in which each finds ready what it waits for. */
const ORDER: ServiceName[] = ['auth', 'catalog', 'usage-ledger', 'model-router', 'media-jobs', 'edge'];

interface Plan extends StartOptions {
  isReady(running: StartedImage): Promise<boolean>;
}

interface Measurement {
  name: string;
  size: number;
  readyMs: number;
  residentBytes: number;
}

/**
 * Starts every image that serves, one after another, as a whole region, and prints how large each is and how long it takes
 * until it says that it is ready. Each runs as a cluster runs it: as its own user, without rights, with a read-only root.
 */
async function main(): Promise<void> {
  if (process.getuid?.() !== 0) throw new StackError('Containers are started by root: run this as root.');
  if (process.env[NETWORK_IS_OWN] === undefined) return runInOwnNetwork();
  const dataDir = await mkdtemp(join(tmpdir(), 'turnpike-measure-'));
  const started: StartedImage[] = [];
  try {
    const rows = await measureAll(started, await planSettings(dataDir));
    const toCells = ({ name, size, readyMs, residentBytes }: Measurement) => [
      name,
      ...[size / 1e6, readyMs / 1000, residentBytes / 1e6].map((value, index) => value.toFixed(index === 1 ? 1 : 0)),
    ];
    print(formatTable([['image', 'MB', 'ready after s', 'resident MB'], ...rows.map(toCells)], { right: [1, 2, 3] }));
  } finally {
    for (const image of started.reverse()) {
      const code = await image.stop();
      if (code !== 0 && code !== ENDED_BY_SIGTERM) print(`One ended with ${code}:\n${image.output()}`);
    }
    await rm(dataDir, { recursive: true });
  }
}

/** The same once more where the fixed ports of the stores meet nobody else's. */
async function runInOwnNetwork(): Promise<void> {
  const args = ['--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh', process.execPath, ...process.execArgv];
  const child = spawn('unshare', [...args, ...process.argv.slice(1)], {
    env: { ...process.env, [NETWORK_IS_OWN]: '1' },
    stdio: 'inherit',
  });
  process.exitCode = await new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? 1)));
}

async function planSettings(dataDir: string): Promise<StackSettings> {
  const secretsFile = join(dataDir, 'secrets.json');
  const ports = toStackPorts(10_000, { simulatedModels: 0, mediaModels: 0 });
  return {
    ports: { ...ports, postgres: 5432, redis: 6379, s3: 8080 },
    secrets: await loadLocalSecrets(secretsFile, { dataDirs: [] }),
    secretsFile,
    catalogFile: '/data/catalog.yaml',
    enginesFile: '/data/engines.json',
    mediaBackendsFile: '/data/media-backends.json',
    dataDir: '/data',
    s3: true,
    kafkaBrokers: undefined,
    observation: {},
    serviceSettings: {},
    portOf: (_from, port) => port,
  };
}

async function measureAll(started: StartedImage[], settings: StackSettings): Promise<Measurement[]> {
  const build = await createBuilder(print);
  const start = async (name: string, options: StartOptions) => {
    const image = IMAGES.find((one) => one.name === name);
    if (image === undefined) throw new Error(`No image is called ${name}.`);
    const { file, size } = await build(image);
    const running = startImage(file, options);
    started.push(running);
    return { running, size };
  };
  const rows: Measurement[] = [];
  const measure = async (name: string, { isReady, ...options }: Plan) => {
    const { running, size } = await start(name, options);
    const startedAt = performance.now();
    let hasEnded = false;
    void running.ended.then(() => {
      hasEnded = true;
    });
    const ask = async () => hasEnded || (await isReady(running).catch(() => undefined)) || undefined;
    const isOver = await waitFor(ask, { timeoutMs: READY_TIMEOUT_MS, intervalMs: ASK_EVERY_MS });
    if (!isOver || hasEnded) throw new StackError(`${name} has not become ready:\n${running.output()}`);
    rows.push({ name, size, readyMs: performance.now() - startedAt, residentBytes: running.residentBytes() });
    print(`${name} is ready`);
  };
  const migrate = async (service: DatabaseService) => {
    const env = toMigrationEnvironment(service, settings);
    const { running } = await start(service, { env, args: ['src/migrate.js'] });
    if ((await running.ended) !== 0) throw new StackError(`${service} was not migrated:\n${running.output()}`);
  };

  for (const [name, plan] of Object.entries(planOthers(settings))) await measure(name, plan);
  const files = await planFiles(settings);
  for (const service of ORDER) {
    if (isDatabaseService(service)) await migrate(service);
    const { internalUrl } = toServiceUrls(settings.ports)[service];
    const env = toServiceEnvironments(settings)[service];
    await measure(service, { env, files, isReady: () => answers(`${internalUrl}/ready`, 200) });
  }
  return rows;
}

/** What a region needs besides its services. */
const planOthers = ({ secrets }: StackSettings): Record<string, Plan> => ({
  postgres: {
    env: {
      POSTGRES_PASSWORD: secrets.postgresPassword,
      DATABASES: JSON.stringify(listDatabases(secrets.databasePasswords)),
    },
    // The server writes its state on the eighth line of its lock file.
    isReady: async (running) =>
      readFileSync(running.pathOf('/data/postgres/postmaster.pid'), 'utf8').split('\n')[7]?.trim() === 'ready',
  },
  redis: {
    env: { REDIS_PASSWORD: secrets.redisPassword },
    isReady: async (running) => running.output().includes('Ready to accept'),
  },
  s3: {
    env: { S3_BUCKET: S3.bucket, S3_ACCESS_KEY_ID: S3.accessKeyId, S3_SECRET_ACCESS_KEY: secrets.s3Secret },
    isReady: () => answers('http://127.0.0.1:8080/', 403),
  },
  'engine-simulator': {
    env: {
      ADMIN_PORT: String(ENGINE_PORT + 2),
      SIMULATOR_ENGINES: JSON.stringify([{ port: ENGINE_PORT, servedModelNames: [TEXT_MODEL] }]),
    },
    isReady: () => answers(`http://127.0.0.1:${ENGINE_PORT}/health`, 200),
  },
  'media-simulator': {
    env: {
      PORT: String(MEDIA_PORT),
      ADMIN_PORT: String(MEDIA_PORT + 2),
      PERSONALITY: 'kokoro',
      MODEL: SPEECH_MODEL,
      DATA_DIR: '/data',
    },
    isReady: () => answers(`http://127.0.0.1:${MEDIA_PORT}/health`, 200),
  },
});

/** The files that services are told of, by their paths in the containers. */
async function planFiles({
  catalogFile,
  enginesFile,
  mediaBackendsFile,
}: StackSettings): Promise<Record<string, string>> {
  const engine = { id: 'engine-1', url: `http://127.0.0.1:${ENGINE_PORT}`, model: TEXT_MODEL };
  const backend = {
    id: 'media-1',
    url: `http://127.0.0.1:${MEDIA_PORT}`,
    engine: 'kokoro',
    model: SPEECH_MODEL,
    slots: 1,
  };
  return {
    [catalogFile]: await readFile(join(repositoryRoot, 'deploy/catalog/us.yaml'), 'utf8'),
    [enginesFile]: JSON.stringify({ engines: [engine] }),
    [mediaBackendsFile]: JSON.stringify({ backends: [backend] }),
  };
}

async function answers(url: string, status: number): Promise<boolean> {
  const answer = await fetch(url);
  await answer.body?.cancel();
  return answer.status === status;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof StackError ? error.message : (error as Error)?.stack}\n`);
  process.exitCode = 1;
});
