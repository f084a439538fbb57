import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { loadConfig } from '@turnpike/config/loadConfig';
import { createLogger } from '@turnpike/logging/createLogger';
import { z } from 'zod';
import { checkObjectStore, objectStoreSettings, toPlace } from './objectStoreSettings.ts';
import { openObjectStore } from './openObjectStore.ts';

const schema = z.object(objectStoreSettings).superRefine(checkObjectStore);
const load = (env: Record<string, string>) => loadConfig('media-jobs', schema, env);
const bucket = {
  OBJECT_STORE_URL: 'https://s3.example',
  OBJECT_STORE_REGION: 'eu-central-1',
  OBJECT_STORE_BUCKET: 'media',
  OBJECT_STORE_ACCESS_KEY_ID: 'AKIA',
  OBJECT_STORE_SECRET_ACCESS_KEY: 'a/secret+with=signs',
};

it('reads a bucket, or a folder', () => {
  expect(toPlace(load(bucket))).toEqual({
    url: 'https://s3.example',
    region: 'eu-central-1',
    bucket: 'media',
    accessKeyId: 'AKIA',
    secretAccessKey: 'a/secret+with=signs',
  });
  expect(toPlace(load({ OBJECT_STORE_FOLDER: '/var/lib/objects' }))).toEqual({ folder: '/var/lib/objects' });
});

it.each(Object.keys(bucket))('has no default for %s, and names it where it lacks', (name) => {
  const { [name]: _, ...rest } = bucket as Record<string, string>;
  expect(() => load(rest)).toThrow(`\n  ${name}: is not set`);
});

it.each([
  ['OBJECT_STORE_URL: is not set', {}],
  ['OBJECT_STORE_BUCKET: must not be set beside OBJECT_STORE_FOLDER', { ...bucket, OBJECT_STORE_FOLDER: '/objects' }],
  ['OBJECT_STORE_FOLDER: must be an absolute path', { OBJECT_STORE_FOLDER: 'objects' }],
  ['OBJECT_STORE_URL: must be an http(s) address', { ...bucket, OBJECT_STORE_URL: 's3://media' }],
  ['OBJECT_STORE_FOLDER: is empty', { ...bucket, OBJECT_STORE_FOLDER: '' }],
])('refuses what is no store: %s', (problem, env) => {
  expect(() => load(env)).toThrow(problem);
  expect(() => load(env)).not.toThrow(/a\/secret/);
});

it('opens the folder that is named', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-objects-'));
  const log = createLogger({ service: 'object-store-test', level: 'silent' });
  const store = await openObjectStore(load({ OBJECT_STORE_FOLDER: join(folder, 'objects') }), { log });
  expect(await store.head('a/clip.mp4')).toBeUndefined();
  await store.close();
  await rm(folder, { recursive: true });
});
