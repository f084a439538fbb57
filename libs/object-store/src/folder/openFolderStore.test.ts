import { mkdir, mkdtemp, readdir, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeFullStore, describeObjectStore, type ObjectStoreUnderTest } from '../../test/objectStoreContract.ts';
import { aStream, summarize } from '../../test/streams.ts';
import { openFolderStore } from './openFolderStore.ts';
import { toPartialPath } from './walkFolder.ts';

const OPTIONS = { contentType: 'image/png', maxBytes: 1_000 };
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnpike-objects-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function leaveUnfinished(key: string): Promise<string> {
  const path = toPartialPath(join(folder, key));
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, 'half of it');
  return path;
}

const underTest = (): ObjectStoreUnderTest => ({
  settings: { OBJECT_STORE_FOLDER: folder },
  open: ({ idleTimeoutMs }) => openFolderStore({ folder, idleTimeoutMs }),
  leaveUnfinished: async (key) => void (await leaveUnfinished(key)),
});
describeObjectStore('folder', underTest);
describeFullStore('folder', underTest, { objects: 110, mib: 32 });

const open = () => openFolderStore({ folder, idleTimeoutMs: 30_000 });

it('cleans up after a crash when it is opened, and leaves the file of a put that goes on', async () => {
  const crashed = await leaveUnfinished('crashed/a/clip.mp4');
  const alive = await leaveUnfinished('alive/a/clip.mp4');
  const hourAgo = new Date(Date.now() - 3_600_000);
  await utimes(crashed, hourAgo, hourAgo);
  await open();
  expect(await readdir(folder)).not.toContain('crashed');
  expect((await stat(alive)).size).toBe(10);
});

it('leaves no empty folders', async () => {
  const store = await open();
  await store.put('empty/a/b/image.png', aStream(1), OPTIONS);
  await store.delete('empty/a/b/image.png');
  expect(await readdir(folder)).not.toContain('empty');
});

it('keeps objects for their owner alone', async () => {
  const store = await open();
  await store.put('modes/image.png', aStream(1), OPTIONS);
  expect((await stat(join(folder, 'modes/image.png'))).mode & 0o777).toBe(0o600);
});

it('takes a file that lost its end for a failure of the store, never for an object or for none', async () => {
  const store = await open();
  const path = join(folder, 'damaged/image.png');
  await store.put('damaged/image.png', aStream(500), OPTIONS);
  const { content } = await store.get('damaged/image.png');
  await truncate(path, 400);
  expect(await summarize(content)).toMatchObject({ bytes: 400, error: { kind: 'unavailable', reason: 'broken_off' } });
  for (const size of [400, 3, 0]) {
    await truncate(path, size);
    await expect(store.get('damaged/image.png')).rejects.toMatchObject({ kind: 'unavailable', reason: 'failing' });
    await expect(store.head('damaged/image.png')).rejects.toMatchObject({ kind: 'unavailable', reason: 'failing' });
  }
});

it('says that it is unavailable where the disk fails, without saying where', async () => {
  const path = join(folder, 'not-a-folder');
  await writeFile(path, '');
  const error = await open()
    .then((store) => store.put('not-a-folder/image.png', aStream(1), OPTIONS))
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ kind: 'unavailable', reason: 'failing' });
  expect(String(error)).not.toContain(folder);
});

it('is opened through a link, as a disk of its own may be', async () => {
  const path = join(folder, 'linked');
  await symlink(await mkdtemp(join(tmpdir(), 'turnpike-objects-')), path);
  const store = await openFolderStore({ folder: path, idleTimeoutMs: 30_000 });
  await store.put('a/image.png', aStream(5), OPTIONS);
  expect((await summarize((await store.get('a/image.png')).content)).bytes).toBe(5);
});
