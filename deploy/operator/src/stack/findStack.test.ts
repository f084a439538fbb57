import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { findStack } from './findStack.ts';

const secret = 'a secret of more than thirty-two characters';
const env = {
  TURNPIKE_AUTH_INTERNAL_URL: 'http://auth:8081',
  TURNPIKE_CATALOG_INTERNAL_URL: 'http://catalog:8081',
  TURNPIKE_ROUTER_INTERNAL_URL: 'http://router:8081',
  TURNPIKE_LEDGER_INTERNAL_URL: 'http://ledger:8081',
  INTERNAL_TOKEN_KEYS: `k2:${secret},k1:${secret}`,
};

let folder: string;
let stackFile: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnpike-operator-'));
  stackFile = join(folder, 'stack.json');
});
afterEach(() => rm(folder, { recursive: true }));

async function writeStack(): Promise<void> {
  const secretsFile = join(folder, 'secrets.json');
  const services = Object.fromEntries(
    ['auth', 'catalog', 'model-router', 'usage-ledger'].map((name) => [name, { internal_url: `http://${name}.local` }]),
  );
  await writeFile(stackFile, JSON.stringify({ regions: { us: { services, secrets_file: secretsFile } } }));
  await writeFile(secretsFile, JSON.stringify({ internalTokenKeys: `local1:${secret}` }));
}

it('takes the stack that the environment names, as in production', async () => {
  expect(await findStack({ stackFile: undefined, env })).toEqual({
    urls: {
      auth: 'http://auth:8081',
      catalog: 'http://catalog:8081',
      'model-router': 'http://router:8081',
      'usage-ledger': 'http://ledger:8081',
    },
    tokenKeys: [
      { id: 'k2', secret },
      { id: 'k1', secret },
    ],
  });
});

it('takes a stack file before the environment, and its secrets from where it says they lie', async () => {
  await writeStack();
  const { urls, tokenKeys } = await findStack({ stackFile, env });
  expect(urls.auth).toBe('http://auth.local');
  expect(tokenKeys).toEqual([{ id: 'local1', secret }]);
});

it('names every variable that is missing or wrong, in one line without any of their values', async () => {
  const wrong = { ...env, TURNPIKE_ROUTER_INTERNAL_URL: 'router', INTERNAL_TOKEN_KEYS: 'k1:too-short' };
  const { TURNPIKE_LEDGER_INTERNAL_URL: _absent, ...incomplete } = wrong;
  await expect(findStack({ stackFile: undefined, env: incomplete })).rejects.toThrow(
    /^These variables .*: TURNPIKE_ROUTER_INTERNAL_URL, TURNPIKE_LEDGER_INTERNAL_URL, INTERNAL_TOKEN_KEYS\.$/,
  );
});

it('says which file is missing, or is not what it should be', async () => {
  await expect(findStack({ stackFile, env: {} })).rejects.toThrow(`${stackFile} cannot be read: does that stack run?`);
  await writeStack();
  await rm(join(folder, 'secrets.json'));
  await expect(findStack({ stackFile, env: {} })).rejects.toThrow('secrets.json, which holds the stack');
  await writeFile(stackFile, '{"regions":');
  await expect(findStack({ stackFile, env: {} })).rejects.toThrow(`${stackFile} does not describe a stack`);
});
