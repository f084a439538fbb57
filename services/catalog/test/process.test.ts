import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { catalogSnapshotSchema } from '@turnpike/internal-api/catalogSnapshot';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { openPostgres, type TestDatabases } from '@turnpike/test-support/startPostgres';
import { until } from '@turnpike/test-support/until';
import { catalogTextOf, catalogTextWith } from './catalogText.ts';
import { openTestCatalog, type TestCatalog } from './openTestCatalog.ts';
import {
  fleet,
  internalHeadersFor,
  startTestAuth,
  startTestRouter,
  type TestAuth,
  type TestRouter,
} from './startNeighbours.ts';

let postgres: TestDatabases;
let catalog: TestCatalog;
let auth: TestAuth;
let router: TestRouter;
beforeAll(async () => {
  [postgres, auth, router] = await Promise.all([openPostgres(), startTestAuth(), startTestRouter()]);
  catalog = await openTestCatalog(postgres);
});
afterAll(async () => {
  for (const neighbour of [auth, router]) neighbour.close();
  await catalog.close();
  await postgres.stop();
});

interface Run {
  child: ChildProcess;
  /** The exit code and what was printed. */
  ended: Promise<{ code: number | null; output: string }>;
}

/** Runs one of the service's entry points with exactly this environment. */
function start(entry: 'main' | 'migrate', env: Record<string, string>): Run {
  const file = fileURLToPath(new URL(`../src/${entry}.ts`, import.meta.url));
  const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk));
  return { child, ended: once(child, 'close').then(([code]) => ({ code, output })) };
}

it('migrates its database and says so in one line, and the second time that there is nothing to do', async () => {
  const DATABASE_URL = await postgres.createDatabase();
  const first = await start('migrate', { DATABASE_URL }).ended;
  expect(first).toEqual({ code: 0, output: expect.stringMatching(/^catalog: applied 0001_tables\n$/) });
  expect(await start('migrate', { DATABASE_URL }).ended).toEqual({ code: 0, output: 'catalog: nothing to migrate\n' });
});

it('does not start with a wrong environment, and names every variable', async () => {
  const { code, output } = await start('main', { REGION: 'mars', LIMITS: '{"MODEL_LIST_PER_MINUTE":0}' }).ended;
  expect(code).toBe(1);
  const named = [
    'REGION',
    'PORT',
    'INTERNAL_PORT',
    'INTERNAL_SIGNING_KEY',
    'INTERNAL_PUBLIC_KEYS',
    'DATABASE_URL',
    'CATALOG_FILE',
  ];
  for (const name of [
    ...named,
    'AUTH_INTERNAL_URL',
    'ROUTER_INTERNAL_URL',
    'MEDIA_INTERNAL_URL',
    'REDIS_URL',
    'LIMITS.MODEL_LIST_PER_MINUTE',
  ])
    expect(output).toContain(`  ${name}: `);
});

async function environment(): Promise<Record<string, string>> {
  return {
    REGION: 'us',
    PORT: String(await findFreePort()),
    INTERNAL_PORT: String(await findFreePort()),
    INTERNAL_SIGNING_KEY: fleet.signingKeys.catalog ?? '',
    INTERNAL_PUBLIC_KEYS: fleet.publicKeysText,
    DATABASE_URL: catalog.databaseUrl,
    CATALOG_FILE: catalog.path,
    AUTH_INTERNAL_URL: auth.url,
    ROUTER_INTERNAL_URL: router.url,
    MEDIA_INTERNAL_URL: router.url,
    // No edge listens there, so the limits are not shared.
    REDIS_URL: 'redis://127.0.0.1:1',
  };
}

it('does not start for the first time with a broken file, and prints each mistake with its line', async () => {
  await writeFile(catalog.path, catalogTextWith({ 9: '    context_length: 0', 12: '      prompt: "-1"' }));
  const { code, output } = await start('main', await environment()).ended;
  expect(code).toBe(1);
  expect(output).toContain(`${catalog.path}:9: models[0].context_length: `);
  expect(output).toContain(`${catalog.path}:12: models[0].pricing.prompt: `);
});

it('serves the file’s catalog, follows its changes, and ends in order when told to', async () => {
  await writeFile(catalog.path, catalogTextWith({}));
  router.setLive({ 'small-chat': { engines: 1, healthy: 1 } });
  const env = await environment();
  const { child, ended } = start('main', env);
  await once(child, 'message');

  const fetchSnapshot = async () => {
    const headers = await internalHeadersFor('catalog', 'GET /internal/catalog');
    const response = await fetch(`http://127.0.0.1:${env.INTERNAL_PORT}/internal/catalog`, { headers });
    return catalogSnapshotSchema.parse(await response.json());
  };
  expect(await fetchSnapshot()).toMatchObject({ version: 1, models: [{ id: 'small-chat' }] });
  await writeFile(catalog.path, catalogTextOf({ id: 'second' }));
  await until('version 2 to be served', async () => (await fetchSnapshot()).version === 2);

  const headers = { authorization: `Bearer ${auth.issueKey()}` };
  const list = () => fetch(`http://127.0.0.1:${env.PORT}/v1/models`, { headers });
  // The catalog serves before its first answer of the router.
  await until('the list to be served', async () => (await list()).status === 200);
  expect(await (await list()).json()).toMatchObject({ object: 'list', data: [{ id: 'small-chat', is_ready: true }] });

  child.kill('SIGTERM');
  expect((await ended).code).toBe(0);
});
