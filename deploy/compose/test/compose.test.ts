import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadConfig } from '@turnpike/config/loadConfig';
import {
  DATABASE_SERVICES,
  entryOf,
  REGION_SERVICES,
  SERVICE_NAMES,
  type ServiceName,
} from '@turnpike/config/services';
import { loadLocalSecrets } from '@turnpike/local-stack/localSecrets';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { readConfigSchemas } from '@turnpike/manifests/readConfigSchemas';
import { parse } from 'yaml';
import { z } from 'zod';
import { writeSecrets } from '../src/writeSecrets.ts';

const FOLDER = join(repositoryRoot, 'deploy/compose');
const SECRETS_FOLDER = join(repositoryRoot, '.turnpike/compose');

const containerSchema = z.object({
  image: z.string(),
  command: z.array(z.string()).optional(),
  env_file: z.array(z.string()).default([]),
  environment: z.record(z.string(), z.string()).default({}),
  networks: z.array(z.string()).min(1),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
  user: z.string(),
  read_only: z.boolean(),
  cap_drop: z.array(z.string()),
  security_opt: z.array(z.string()),
  tmpfs: z.array(z.string()),
  privileged: z.literal(false).default(false),
});
type Container = z.output<typeof containerSchema>;
const composeSchema = z.object({
  services: z.record(z.string(), containerSchema),
  networks: z.record(z.string(), z.object({ internal: z.boolean() }).nullable()),
});

let compose: z.output<typeof composeSchema>;
let schemas: Map<ServiceName, z.ZodObject>;
/** A folder for the output of the command, instead of the one in the repository. */
let secretsFolder: string;
let secretFiles: string[];
beforeAll(async () => {
  const text = await readFile(join(FOLDER, 'compose.yaml'), 'utf8');
  compose = composeSchema.parse(parse(text, { merge: true }));
  schemas = await readConfigSchemas();
  secretsFolder = await mkdtemp(join(tmpdir(), 'turnpike-compose-'));
  secretFiles = await writeSecrets(secretsFolder);
});
afterAll(() => rm(secretsFolder, { recursive: true }));

function containerOf(name: string): Container {
  const container = compose.services[name];
  if (!container) throw new Error(`compose.yaml has no ${name}`);
  return container;
}

/** Its environment as Compose makes it: later files over earlier ones, and what stands in compose.yaml over both. */
async function environmentOf({ env_file: files, environment }: Container): Promise<Record<string, string>> {
  const texts = await Promise.all(files.map((file) => readFile(toWritten(file), 'utf8')));
  return Object.assign({}, ...texts.map((text) => parseEnv(text)), environment);
}

function toWritten(file: string): string {
  const path = resolve(FOLDER, file);
  return path.startsWith(SECRETS_FOLDER) ? join(secretsFolder, basename(path)) : path;
}

async function configOf(name: ServiceName): Promise<Record<string, unknown>> {
  const schema = schemas.get(name);
  if (!schema) throw new Error(`there is no service ${name}`);
  return loadConfig(name, schema, await environmentOf(containerOf(name)));
}

/** Volumes have names, files have paths. */
const isFile = ([source]: string[]): boolean => source?.startsWith('.') ?? false;

describe.each(SERVICE_NAMES)('%s', (name) => {
  it('is there, and is told what its own schema takes and nothing that it does not know', async () => {
    expect(containerOf(name).image).toBe(`turnpike/${name}:dev`);
    expect(await configOf(name)).toMatchObject({
      ...(entryOf(name).scope === 'region' && { REGION: 'us' }),
      LISTEN_HOST: '0.0.0.0',
      PORT: 8080,
      INTERNAL_PORT: 9090,
    });
    const known = Object.keys(schemas.get(name)?.shape ?? {});
    const told = Object.keys(await environmentOf(containerOf(name)));
    expect(told.filter((variable) => !known.includes(variable))).toEqual([]);
  });

  it('shares a network with everybody whose address it is told', async () => {
    const { networks } = containerOf(name);
    const values = Object.entries(await environmentOf(containerOf(name))).filter(([key]) => key !== 'PUBLIC_URL');
    const hosts = values.filter(([key]) => key.endsWith('_URL')).map(([, value]) => new URL(value).hostname);
    expect(hosts).toEqual(expect.arrayContaining([...entryOf(name).calls]));
    for (const host of hosts) {
      expect({ host, isNear: containerOf(host).networks.some((network) => networks.includes(network)) }).toEqual({
        host,
        isNear: true,
      });
    }
  });

  it('finds the files that it is told of, and keeps what it writes on a volume', async () => {
    // The pages of the dashboard are in the image.
    const told = Object.entries(await environmentOf(containerOf(name))).filter(([key]) => key !== 'DASHBOARD_DIR');
    const [files, folders] = ['_FILE', '_DIR'].map((end) => told.filter(([key]) => key.endsWith(end)));
    const mounts = containerOf(name).volumes.map((volume) => volume.split(':'));
    const [mountedFiles, volumes] = [mounts.filter(isFile), mounts.filter((mount) => !isFile(mount))];
    expect(mountedFiles.map(([, place]) => place)).toEqual(files?.map(([, place]) => place));
    for (const [source = ''] of mountedFiles) expect((await stat(resolve(FOLDER, source))).isFile()).toBe(true);
    for (const [, folder] of folders ?? [])
      expect(volumes.some(([, place]) => folder.startsWith(`${place}/`))).toBe(true);
  });
});

it.each(DATABASE_SERVICES)('%s waits for its migration, which waits for Postgres', async (name) => {
  const migration = containerOf(`migrate-${name}`);
  expect(containerOf(name).depends_on).toEqual({
    [`migrate-${name}`]: { condition: 'service_completed_successfully' },
  });
  expect(migration).toMatchObject({ image: `turnpike/${name}:dev`, command: ['src/migrate.js'] });
  expect(migration.depends_on).toEqual({ postgres: { condition: 'service_healthy' } });
  const { DATABASE_URL: databaseUrl = '', SERVICE_ROLE: role } = await environmentOf(migration);
  const { name: database, owner } = { owner: undefined, ...entryOf(name).database };
  expect(new URL(databaseUrl)).toMatchObject({ username: owner ?? database, pathname: `/${database}` });
  expect(role).toBe(owner && database);
});

it('publishes the edge and the pages alone, for this machine alone', () => {
  const published = Object.entries(compose.services).filter(([, { ports }]) => ports.length > 0);
  expect(published.map(([name, { ports }]) => [name, ports])).toEqual([
    ['edge', ['127.0.0.1:8080:8080', '127.0.0.1:8081:8081']],
    ['control-plane', ['127.0.0.1:8106:8080']],
    ['mail-catcher', ['127.0.0.1:8025:8025']],
    ['payments-simulator', ['127.0.0.1:8400:8400']],
  ]);
});

/** The container and its port that lead to an address of this machine. */
function findPublished(address: string): [string, number] | undefined {
  const { hostname, port } = new URL(address);
  if (hostname !== 'localhost') return undefined;
  for (const [name, { ports }] of Object.entries(compose.services))
    for (const [, outer, inner] of ports.map((mapping) => mapping.split(':')))
      if (outer === port) return [name, Number(inner)];
  return undefined;
}

it('leads browsers to the account layer, to the console host of the region, and to its API', async () => {
  const [account, edge] = [await configOf('control-plane'), await configOf('edge')];
  expect(edge.CONSOLE_ALLOWED_ORIGIN).toBe(account.ACCOUNT_ORIGIN);
  expect(findPublished(String(account.ACCOUNT_ORIGIN))).toEqual(['control-plane', account.PORT]);
  const { us, ...others } = account.REGION_HOSTS as Record<string, { console_url: string; base_url: string }>;
  expect(others).toEqual({});
  expect(findPublished(us?.console_url ?? '')).toEqual(['edge', edge.CONSOLE_PORT]);
  expect(findPublished(us?.base_url ?? '')).toEqual(['edge', edge.PORT]);
});

it('sends mails to a mail server that keeps them', async () => {
  const { SMTP_URL: smtpUrl } = await configOf('control-plane');
  const { hostname, port } = new URL(String(smtpUrl));
  const { SMTP_PORT, PORT, MAILS_DIR } = await environmentOf(containerOf(hostname));
  expect([hostname, port]).toEqual(['mail-catcher', SMTP_PORT]);
  expect(findPublished(`http://localhost:${PORT}`)).toEqual(['mail-catcher', Number(PORT)]);
  expect(containerOf('mail-catcher').tmpfs.some((place) => MAILS_DIR?.startsWith(`${place}/`))).toBe(true);
});

it('pays at the payments simulator, which calls back, and copies invoices into a bucket', async () => {
  const { PAYMENT_PROCESSOR: processor, PORT: accountPort } = await configOf('control-plane');
  const { documents, ...settings } = processor as { documents: { url: string; bucket: string } } & Record<
    string,
    string
  >;
  const { hostname, port } = new URL(settings.api_url ?? '');
  const simulator = await environmentOf(containerOf(hostname));
  expect([hostname, port, settings.secret_key]).toEqual(['payments-simulator', simulator.PORT, simulator.SECRET_KEY]);
  expect(settings.webhook_secrets).toEqual([simulator.WEBHOOK_SECRET]);
  expect(new URL(simulator.WEBHOOK_URL ?? '').host).toBe(`control-plane:${accountPort}`);
  // The pages name themselves by this address.
  expect(findPublished(`http://localhost:${simulator.PORT}`)).toEqual(['payments-simulator', Number(simulator.PORT)]);
  expect(new URL(documents.url).hostname).toBe('s3');
  expect((await environmentOf(containerOf('s3'))).S3_BUCKET?.split(',')).toContain(documents.bucket);
});

it('signs the account layer in at the region, and the region at the account layer', async () => {
  const [account, auth] = [await configOf('control-plane'), await configOf('auth')];
  for (const { INTERNAL_PUBLIC_KEYS: known } of [account, auth]) {
    const issuers = (known as { issuer: string }[]).map(({ issuer }) => issuer);
    expect(issuers).toEqual(
      expect.arrayContaining(['global/control-plane', 'us/auth', 'us/usage-ledger', 'us/operator']),
    );
  }
});

it('leads nobody out but those who fetch what clients name', () => {
  const open = Object.entries(compose.networks).filter(([, network]) => !network?.internal);
  expect(open.map(([name]) => name)).toEqual(['clients', 'internet']);
  const near = Object.entries(compose.services).filter(([, { networks }]) => networks.includes('internet'));
  expect(near.map(([name]) => name)).toEqual(['model-router', 'media-jobs']);
  const withClients = Object.entries(compose.services).filter(([, { networks }]) => networks.includes('clients'));
  expect(withClients.map(([name]) => name)).toEqual(['edge', 'control-plane', 'mail-catcher', 'payments-simulator']);
});

it('gives no container a right, or a root that it could write', () => {
  const containers = Object.entries(compose.services);
  expect(containers.length).toBeGreaterThan(SERVICE_NAMES.length + DATABASE_SERVICES.length);
  for (const [name, { user, read_only, cap_drop, security_opt, tmpfs }] of containers)
    expect({ name, user, read_only, cap_drop, security_opt, tmpfs }).toEqual({
      name,
      user: '65532:65532',
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      tmpfs: expect.arrayContaining(['/tmp']),
    });
});

it('refuses secrets of a version that had no account layer', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-compose-'));
  const file = join(folder, 'secrets.json');
  await loadLocalSecrets(file, { scope: 'us', services: REGION_SERVICES, dataDirs: [] });
  await expect(writeSecrets(folder)).rejects.toThrow('no secrets of the account layer');
  await rm(folder, { recursive: true });
});

it('writes every file of secrets that is read, for its owner alone, and the same ones again', async () => {
  const read = Object.values(compose.services)
    .flatMap((container) => container.env_file)
    .filter((file) => resolve(FOLDER, file).startsWith(SECRETS_FOLDER));
  expect([...new Set(read.map((file) => basename(file)))].sort()).toEqual(secretFiles.toSorted());
  const before = await Promise.all(secretFiles.map((file) => readFile(join(secretsFolder, file), 'utf8')));
  await writeSecrets(secretsFolder);
  for (const [index, file] of secretFiles.entries()) {
    expect((await stat(join(secretsFolder, file))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(secretsFolder, file), 'utf8')).toBe(before[index]);
  }
});
