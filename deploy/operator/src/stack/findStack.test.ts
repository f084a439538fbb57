import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { aFleet } from '@turnpike/internal-auth/aFleet';
import { RefusedError, UsageError } from '../cli/operatorError.ts';
import { findStack, type StackChoice } from './findStack.ts';

const { signingKeys } = aFleet();
const env = {
  TURNPIKE_AUTH_INTERNAL_URL: 'http://auth:8081',
  TURNPIKE_CATALOG_INTERNAL_URL: 'http://catalog:8081',
  TURNPIKE_ROUTER_INTERNAL_URL: 'http://router:8081',
  TURNPIKE_LEDGER_INTERNAL_URL: 'http://ledger:8081',
  TURNPIKE_MEDIA_INTERNAL_URL: 'http://media:8081',
  TURNPIKE_REGION: 'eu',
  INTERNAL_SIGNING_KEY: signingKeys.operator,
};

let stacksFolder: string;
beforeEach(async () => {
  stacksFolder = await mkdtemp(join(tmpdir(), 'turnpike-operator-'));
});
afterEach(() => rm(stacksFolder, { recursive: true }));

const find = (choice: Partial<StackChoice> = {}) => findStack({ env: {}, stacksFolder, ...choice });

/** Describes a stack as the launcher does, and returns the file. */
async function writeStack(port: number, { regions = ['us'], pid = process.pid } = {}): Promise<string> {
  const folder = join(stacksFolder, String(port));
  await mkdir(folder, { recursive: true });
  const describe = (region: string) => {
    const services = Object.fromEntries(
      ['auth', 'catalog', 'model-router', 'usage-ledger', 'media-jobs'].map((name) => [
        name,
        { internal_url: `http://${name}.${region}:${port}`, pid },
      ]),
    );
    return [region, { services, secrets_file: join(folder, 'secrets.json') }] as const;
  };
  const file = join(folder, 'stack.json');
  await writeFile(file, JSON.stringify({ port_base: port, regions: Object.fromEntries(regions.map(describe)) }));
  await writeFile(join(folder, 'secrets.json'), JSON.stringify({ internalKeys: signingKeys }));
  return file;
}

const processThatEnded = (): number => spawnSync(process.execPath, ['--version']).pid;

it('takes the stack that the environment names, as in production', async () => {
  expect(await find({ env })).toEqual({
    stack: 'auth:8081',
    region: 'eu',
    urls: {
      auth: 'http://auth:8081',
      catalog: 'http://catalog:8081',
      'model-router': 'http://router:8081',
      'usage-ledger': 'http://ledger:8081',
      'media-jobs': 'http://media:8081',
    },
    signingKey: expect.objectContaining({ issuer: 'us/operator' }),
  });
});

it('takes a stack file before the environment, and its secrets from where it says they lie', async () => {
  const stack = await writeStack(9800);
  expect(await find({ stack, env })).toEqual({
    stack: '9800',
    region: 'us',
    urls: {
      auth: 'http://auth.us:9800',
      catalog: 'http://catalog.us:9800',
      'model-router': 'http://model-router.us:9800',
      'usage-ledger': 'http://usage-ledger.us:9800',
      'media-jobs': 'http://media-jobs.us:9800',
    },
    signingKey: expect.objectContaining({ issuer: 'us/operator' }),
  });
});

it('takes the only stack that runs here, and never one whose processes have ended', async () => {
  await writeStack(8080, { pid: processThatEnded() });
  await writeStack(9800);
  expect(await find()).toMatchObject({ stack: '9800', region: 'us' });
});

it('chooses none of several: it lists them, and takes the one that --stack or PORT_BASE names', async () => {
  await writeStack(10000);
  await writeStack(9800);
  await expect(find()).rejects.toThrow(UsageError);
  await expect(find()).rejects.toThrow(
    'Several stacks run here: 9800, 10000. Say which one is meant: --stack 9800, or PORT_BASE=9800.',
  );
  expect(await find({ stack: '10000' })).toMatchObject({ stack: '10000' });
  expect(await find({ env: { PORT_BASE: '10000' } })).toMatchObject({ stack: '10000' });
  expect(await find({ stack: '9800', env: { ...env, PORT_BASE: '10000' } })).toMatchObject({ stack: '9800' });
});

it('takes no other stack in place of the one that is named', async () => {
  await writeStack(9800);
  await expect(find({ stack: '9900' })).rejects.toThrow('No stack runs on port 9900 here; these do: 9800.');
  await expect(find({ env: { PORT_BASE: 'https' } })).rejects.toThrow(UsageError);
  await rm(join(stacksFolder, '9800'), { recursive: true });
  await expect(find({ env: { PORT_BASE: '9800' } })).rejects.toThrow('No stack runs on port 9800 here; none does.');
  await expect(find()).rejects.toThrow(/^No stack runs here: start one with "npm start"/);
});

it('does not choose between PORT_BASE and the services that the environment names', async () => {
  await writeStack(9800);
  const twice = find({ env: { ...env, PORT_BASE: '9800' } });
  await expect(twice).rejects.toThrow(UsageError);
  await expect(twice).rejects.toThrow('unset either, or give --stack');
});

it('takes the only region, and of several the one that is named', async () => {
  await writeStack(9800, { regions: ['us', 'eu'] });
  await expect(find()).rejects.toThrow(UsageError);
  await expect(find()).rejects.toThrow('This stack has several regions: us, eu. Say which one is meant: --region us.');
  expect(await find({ region: 'eu' })).toMatchObject({ region: 'eu', urls: { auth: 'http://auth.eu:9800' } });
  await expect(find({ region: 'mars' })).rejects.toThrow('Stack 9800 has no region mars: us, eu.');
  await expect(find({ region: 'us', env })).rejects.toThrow('is of region eu, not us');
});

it('names every variable that is missing or wrong, in one line without any of their values', async () => {
  const wrong = { ...env, TURNPIKE_ROUTER_INTERNAL_URL: 'localhost:9807', INTERNAL_SIGNING_KEY: 'k1:too-short' };
  const { TURNPIKE_LEDGER_INTERNAL_URL: _ledger, TURNPIKE_REGION: _region, ...incomplete } = wrong;
  await expect(find({ env: incomplete })).rejects.toThrow(
    /^These variables .*: TURNPIKE_ROUTER_INTERNAL_URL, TURNPIKE_LEDGER_INTERNAL_URL, TURNPIKE_REGION, INTERNAL_SIGNING_KEY\.$/,
  );
});

it('says which file is missing, or is not what it should be', async () => {
  const absent = join(stacksFolder, 'stack.json');
  await expect(find({ stack: absent })).rejects.toThrow(`${absent} cannot be read: does that stack run?`);
  const stack = await writeStack(9800);
  await rm(join(stacksFolder, '9800', 'secrets.json'));
  await expect(find({ stack })).rejects.toThrow(RefusedError);
  await expect(find({ stack })).rejects.toThrow('secrets.json, which holds the stack');
  await writeFile(stack, '{"regions":');
  await expect(find({ stack })).rejects.toThrow(`${stack} does not describe a stack`);
  await expect(find()).rejects.toThrow(`${stack} does not describe a stack`);
});
