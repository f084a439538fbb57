import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Evidence } from './evidence.ts';

/** Every file below a folder, byte for byte: logs, spool, what the stores have on disk. Files that vanish are left out. */
export async function* readFiles(folder: string): AsyncGenerator<Evidence> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((it) => it.isFile())) {
    const path = join(entry.parentPath, entry.name);
    const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (bytes) yield { place: `file ${relative(folder, path)}`, bytes };
  }
}
