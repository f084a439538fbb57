import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isObjectKey } from '../objectStore.ts';

export interface FoundFile {
  /** Key of the object that the file is, or was to become. */
  key: string;
  path: string;
  isPartial: boolean;
}

/** The files of a store whose keys begin so, in the order of the keys, a folder at a time. What is no object of ours is passed over. */
export async function* walkFolder(root: string, prefix: string): AsyncGenerator<FoundFile, void> {
  yield* walk(root, prefix.slice(0, prefix.lastIndexOf('/') + 1), prefix);
}

async function* walk(root: string, folderKey: string, prefix: string): AsyncGenerator<FoundFile, void> {
  const folder = join(root, folderKey);
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
    throw error;
  });
  const found = entries.map((entry) => {
    const partialOf = nameOfPartial(entry.name);
    // A folder's keys go on with a slash, which is what orders them among files.
    const key = folderKey + (partialOf ?? entry.name) + (entry.isDirectory() ? '/' : '');
    return { key, path: join(folder, entry.name), isPartial: partialOf !== undefined, isFile: entry.isFile() };
  });
  found.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  for (const { isFile, ...file } of found) {
    if (file.key.endsWith('/')) {
      if (file.key.startsWith(prefix) || prefix.startsWith(file.key)) yield* walk(root, file.key, prefix);
    } else if (isFile && file.key.startsWith(prefix) && isObjectKey(file.key)) yield file;
  }
}

/** No key has a name with a dot in front, so none meets such a file. */
const PARTIAL = /^\.(.+)\.[0-9a-f-]{36}\.partial$/;

/** Another file each time, beside that which it becomes. */
export const toPartialPath = (path: string): string =>
  join(dirname(path), `.${basename(path)}.${randomUUID()}.partial`);

/** The name that a partial file was to get; undefined where it is none. */
export const nameOfPartial = (name: string): string | undefined => PARTIAL.exec(name)?.[1];
