import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadConfig } from '@turnpike/config/loadConfig';
import { entryOf, REGION_DATABASE_SERVICES, REGION_SERVICES, type ServiceName } from '@turnpike/config/services';
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
/** What the command writes, in place of what lies below the repository. */
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

describe.each(REGION_SERVICES)('%s', (name) => {
  it('is there, and is told what its own schema takes and nothing that it does not know', async () => {
    expect(containerOf(name).image).toBe(`turnpike/${name}:dev`);
    expect(await configOf(name)).toMatchObject({
      REGION: 'us',
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
    const callees = entryOf(name).calls.filter((callee) => entryOf(callee).scope === 'region');
    expect(hosts.length).toBeGreaterThanOrEqual(callees.length);
    for (const host of hosts) {
      expect({ host, isNear: containerOf(host).networks.some((network) => networks.includes(network)) }).toEqual({
        host,
        isNear: true,
      });
    }
  });

  it('finds the files that it is told of, and keeps what it writes on a volume', async () => {
    const told = Object.entries(await environmentOf(containerOf(name)));
    const [files, folders] = ['_FILE', '_DIR'].map((end) => told.filter(([key]) => key.endsWith(end)));
    const mounts = containerOf(name).volumes.map((volume) => volume.split(':'));
    const [mountedFiles, volumes] = [mounts.filter(isFile), mounts.filter((mount) => !isFile(mount))];
    expect(mountedFiles.map(([, place]) => place)).toEqual(files?.map(([, place]) => place));
    for (const [source = ''] of mountedFiles) expect((await stat(resolve(FOLDER, source))).isFile()).toBe(true);
    for (const [, folder] of folders ?? [])
      expect(volumes.some(([, place]) => folder.startsWith(`${place}/`))).toBe(true);
  });
});

it.each(REGION_DATABASE_SERVICES)('%s waits for its migration, which waits for Postgres', async (name) => {
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

it('publishes the edge alone, for this machine alone', () => {
  const published = Object.entries(compose.services).filter(([, { ports }]) => ports.length > 0);
  expect(published.map(([name, { ports }]) => [name, ports])).toEqual([['edge', ['127.0.0.1:8080:8080']]]);
});

it('leads nobody out but those who fetch what clients name', () => {
  const open = Object.entries(compose.networks).filter(([, network]) => !network?.internal);
  expect(open.map(([name]) => name)).toEqual(['clients', 'internet']);
  const near = Object.entries(compose.services).filter(([, { networks }]) => networks.includes('internet'));
  expect(near.map(([name]) => name)).toEqual(['model-router', 'media-jobs']);
  const withClients = Object.entries(compose.services).filter(([, { networks }]) => networks.includes('clients'));
  expect(withClients.map(([name]) => name)).toEqual(['edge']);
});

it('gives no container a right, or a root that it could write', () => {
  const containers = Object.entries(compose.services);
  expect(containers.length).toBeGreaterThan(REGION_SERVICES.length + REGION_DATABASE_SERVICES.length);
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
