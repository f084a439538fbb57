import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { isWellFormedApiKey } from '@turnpike/api-keys/apiKey';
import type { Region } from '@turnpike/config/region';
import { REGION_SERVICES, SERVICE_NAMES, type ServiceName } from '@turnpike/config/services';
import { loadLocalSecrets } from './localSecrets.ts';

let stateDir: string;
const load = (region: Region = 'us', services: readonly ServiceName[] = SERVICE_NAMES) =>
  loadLocalSecrets(join(stateDir, 'secrets.json'), { scope: region, services, dataDirs: [join(stateDir, 'data')] });
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'turnpike-secrets-'));
});
afterEach(() => rm(stateDir, { recursive: true }));

it('makes secrets of its own for every stack and keeps them for its restarts, readable by the owner alone', async () => {
  const first = await load();
  const again = await load();
  await rm(join(stateDir, 'secrets.json'));
  const other = await load();

  expect(again).toEqual(first);
  expect(other.apiKey).not.toBe(first.apiKey);
  expect(other.postgresPassword).not.toBe(first.postgresPassword);
  expect(isWellFormedApiKey(first.apiKey)).toBe(true);
  expect((await stat(join(stateDir, 'secrets.json'))).mode & 0o777).toBe(0o600);
});

it('makes no secret of the account layer for a region without one', async () => {
  const { internalKeys, databasePasswords, ...others } = await load('eu', REGION_SERVICES);
  expect(Object.keys(internalKeys)).toEqual([...REGION_SERVICES, 'operator']);
  expect(databasePasswords).not.toHaveProperty('account');
  expect(others).not.toHaveProperty('oidcClientSecret');
  expect(await load('eu', REGION_SERVICES)).toEqual({ internalKeys, databasePasswords, ...others });
  expect((await readFile(join(stateDir, 'secrets.json'), 'utf8')).match(/global/)).toBeNull();
});

it('does not make new secrets for data that only the lost ones open', async () => {
  await mkdir(join(stateDir, 'data'));

  await expect(load()).rejects.toThrow(`To start afresh, remove ${stateDir}.`);
});

it('says what to do about a file that is damaged', async () => {
  await writeFile(join(stateDir, 'secrets.json'), '{"apiKey":');

  await expect(load()).rejects.toThrow(`To start afresh, remove ${stateDir}.`);
});

it('does not take the secrets of another region', async () => {
  await load('us');

  await expect(load('eu')).rejects.toThrow(
    'has the secrets of another region than eu. Choose another PORT_BASE. To start afresh',
  );
});

it('makes the secrets that the file of an earlier version lacks, and keeps them: a key of each service, the secret of a client', async () => {
  const { internalKeys, oidcClientSecret, ...earlier } = await load();
  expect(internalKeys).toMatchObject({
    auth: expect.stringMatching(/^us\/auth:/),
    operator: expect.stringMatching(/^us\/operator:/),
    'control-plane': expect.stringMatching(/^global\/control-plane:/),
  });
  await writeFile(join(stateDir, 'secrets.json'), JSON.stringify(earlier));
  const completed = await load();
  expect(completed).toEqual({
    ...earlier,
    internalKeys: expect.objectContaining({ auth: expect.any(String) }),
    oidcClientSecret: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect(completed.oidcClientSecret).not.toBe(oidcClientSecret);
  expect(await load()).toEqual(completed);
});
