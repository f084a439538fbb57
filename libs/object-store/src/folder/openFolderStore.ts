import { constants } from 'node:fs';
import { type FileHandle, link, mkdir, open, rmdir, stat, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { contentStream } from '../contentStream.ts';
import { type MeasuredStream, measureStream } from '../measureStream.ts';
import type { ByteRange, ListedObject, ObjectContent, ObjectStore, PutOptions, StoredBytes } from '../objectStore.ts';
import { assertByteRange, assertKeyPrefix, assertObjectKey, beyondTheEnd } from '../objectStore.ts';
import { ObjectStoreError, unavailable } from '../objectStoreError.ts';
import { readNote, toNoteBytes } from './objectFile.ts';
import { type FoundFile, toPartialPath, walkFolder } from './walkFolder.ts';

/** A put writes, or fails as stalled, well within it; longer than any idle timeout. */
const ABANDONED_MS = 15 * 60_000;
/** A folder may go between its making and its use, as its last object is deleted. */
const FOLDER_TRIES = 10;

interface Folder {
  root: string;
  idleTimeoutMs: number;
}

/** A store in a folder of this machine, which is made where it is missing. Removes what a crash left in it. */
export async function openFolderStore({
  folder,
  idleTimeoutMs,
}: {
  folder: string;
  idleTimeoutMs: number;
}): Promise<ObjectStore> {
  const store: Folder = { root: resolve(folder), idleTimeoutMs };
  await onDisk(() => mkdir(store.root, { recursive: true }));
  await removeUnfinished(store, '', new Date(Date.now() - ABANDONED_MS));
  const pathOf = (key: string): string => {
    assertObjectKey(key);
    return join(store.root, key);
  };
  return {
    put: async (key, source, options) => putFile(store, pathOf(key), source, options),
    async get(key, range) {
      const path = pathOf(key);
      if (range) assertByteRange(range);
      return getFile(store, path, range);
    },
    async head(key) {
      const path = pathOf(key);
      const file = await openObject(path);
      if (!file) return undefined;
      try {
        const { bytes, contentType, sha256 } = await onDisk(() => readNote(file));
        return { bytes, contentType, etag: `"${sha256}"` };
      } finally {
        await file.close();
      }
    },
    async delete(key) {
      const path = pathOf(key);
      await onDisk(async () => {
        if (await unlinkIfThere(path)) await settleFolders(store, dirname(path));
      });
    },
    list(prefix) {
      assertKeyPrefix(prefix);
      return listFiles(store, prefix);
    },
    async removeUnfinished(prefix, startedBefore) {
      assertKeyPrefix(prefix);
      return removeUnfinished(store, prefix, startedBefore);
    },
    close: async () => undefined,
  };
}

/** Wraps disk errors in an `ObjectStoreError`. Rethrows the store's own errors unchanged. */
async function onDisk<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof ObjectStoreError ? error : unavailable('failing', error);
  }
}

async function putFile(
  store: Folder,
  path: string,
  source: Readable,
  { contentType, ...limits }: PutOptions,
): Promise<StoredBytes> {
  const { chunks, total } = measureStream(source, { ...limits, idleTimeoutMs: store.idleTimeoutMs });
  const partialPath = toPartialPath(path);
  const tidy = async (): Promise<void> => {
    await unlinkIfThere(partialPath);
    await settleFolders(store, dirname(path));
  };
  try {
    const stored = await writePartial(partialPath, { chunks, total, contentType });
    await onDisk(() => publish(partialPath, path));
    await onDisk(tidy);
    return stored;
  } catch (error) {
    // A file that cannot be removed now is removed later, as an unfinished one.
    await tidy().catch(() => undefined);
    throw error;
  } finally {
    source.destroy();
  }
}

/** Resolves once all of it, and its note, are safe on the disk. */
async function writePartial(
  partialPath: string,
  { chunks, total, contentType }: MeasuredStream & { contentType: string },
): Promise<StoredBytes> {
  const file = await onDisk(() => createPartial(partialPath));
  try {
    for await (const chunk of chunks) await onDisk(() => file.writeFile(chunk));
    const stored = total();
    await onDisk(() => file.writeFile(toNoteBytes({ ...stored, contentType })));
    await onDisk(() => file.sync());
    return stored;
  } finally {
    await file.close();
  }
}

async function createPartial(path: string): Promise<FileHandle> {
  for (let tries = 1; ; tries += 1) {
    try {
      await mkdir(dirname(path), { recursive: true });
      return await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || tries === FOLDER_TRIES) throw error;
    }
  }
}

/** Gives a whole file its name, which none may have: unlike a rename, a link replaces nothing. */
async function publish(partialPath: string, path: string): Promise<void> {
  try {
    await link(partialPath, path);
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? new ObjectStoreError('exists') : error;
  }
}

/** Undefined where there is no such object. */
async function openObject(path: string): Promise<FileHandle | undefined> {
  return onDisk(async () => {
    try {
      return await open(path, 'r');
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  });
}

async function getFile(store: Folder, path: string, range: ByteRange | undefined): Promise<ObjectContent> {
  const file = await openObject(path);
  if (!file) throw new ObjectStoreError('missing');
  try {
    const { bytes, contentType, sha256 } = await onDisk(() => readNote(file));
    if (range && range.start >= bytes) throw beyondTheEnd();
    const start = range?.start ?? 0;
    const contentBytes = Math.min(range?.end ?? bytes, bytes - 1) - start + 1;
    const content = contentStream(readBytes(file, start, contentBytes), contentBytes, store);
    return { bytes, contentBytes, contentType, etag: `"${sha256}"`, content };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Closes the file when it ends or is destroyed. */
function readBytes(file: FileHandle, start: number, bytes: number): Readable {
  // A file cannot be read to the byte before its first.
  if (bytes === 0) return Readable.from([]).once('close', () => void file.close());
  return file.createReadStream({ start, end: start + bytes - 1 });
}

async function* listFiles(store: Folder, prefix: string): AsyncGenerator<ListedObject, void> {
  for await (const { path, key, isPartial } of walkDisk(store, prefix)) {
    // The object may have been deleted meanwhile.
    const file = isPartial ? undefined : await openObject(path);
    if (!file) continue;
    try {
      const [{ bytes }, { mtime: modifiedAt }] = await onDisk(() => Promise.all([readNote(file), file.stat()]));
      yield { key, bytes, modifiedAt };
    } finally {
      await file.close();
    }
  }
}

async function removeUnfinished(store: Folder, prefix: string, startedBefore: Date): Promise<number> {
  let removed = 0;
  for await (const { path, isPartial } of walkDisk(store, prefix)) {
    if (!isPartial) continue;
    await onDisk(async () => {
      if (!(await isWrittenBefore(path, startedBefore)) || !(await unlinkIfThere(path))) return;
      removed += 1;
      await settleFolders(store, dirname(path));
    });
  }
  return removed;
}

async function* walkDisk({ root }: Folder, prefix: string): AsyncGenerator<FoundFile, void> {
  const files = walkFolder(root, prefix);
  for (;;) {
    const { value: file } = await onDisk(() => files.next());
    if (!file) return;
    yield file;
  }
}

async function isWrittenBefore(path: string, instant: Date): Promise<boolean> {
  try {
    return (await stat(path)).mtime < instant;
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}

/** Whether there was such a file. */
async function unlinkIfThere(path: string): Promise<boolean> {
  try {
    await unlink(path);
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}

/** Removes folders that are empty now, and has what changed in those that stay survive a power cut. */
async function settleFolders({ root }: Folder, changed: string): Promise<void> {
  for (let folder = changed; folder !== root; folder = dirname(folder)) {
    if (!(await removeIfEmpty(folder))) await syncFolder(folder);
  }
  await syncFolder(root);
}

async function removeIfEmpty(folder: string): Promise<boolean> {
  try {
    await rmdir(folder);
    return true;
  } catch (error) {
    if (isGone(error)) return true;
    if ((error as NodeJS.ErrnoException).code === 'ENOTEMPTY') return false;
    throw error;
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch((error: unknown) => {
    if (isGone(error)) return undefined;
    throw error;
  });
  await handle?.sync().finally(() => handle.close());
}

const isGone = (error: unknown): boolean => {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR';
};
