import { existsSync } from 'node:fs';
import { copyFile, mkdir, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StackError } from '@turnpike/local-stack/stackError';
import { readOutput } from '../readOutput.ts';

/**
 * The shared libraries that programs and libraries of this machine are loaded with, by the paths at which they are looked for.
 * Throws a `StackError` where one is missing.
 */
export async function listLibraries(files: string[]): Promise<string[]> {
  const output = await readOutput('ldd', files);
  const missing = /^\s*(\S+) => not found/m.exec(output)?.[1];
  if (missing !== undefined) throw new StackError(`${missing}, which one of ${files.join(', ')} needs, is missing.`);
  const paths = [...output.matchAll(/^\s+(?:\S+ => )?(\/\S+) \(0x/gm)].map(([, path = '']) => path);
  return [...new Set(paths)].sort();
}

/**
 * Converts a path to its form with /bin, /lib and /lib64 as links into /usr. The loader searches libraries below both names. So a
 * base image with folders instead of the links finds those below /usr too.
 */
export const toMergedPath = (path: string): string => path.replace(/^\/(bin|sbin|lib|lib64)\//, '/usr/$1/');

/** Copies files of this machine below `folder`, each to its own path; what is a link here is a file there. */
export async function copyFiles(files: string[], folder: string): Promise<void> {
  for (const file of files) {
    const target = join(folder, toMergedPath(file));
    await mkdir(dirname(target), { recursive: true });
    await copyFile(await realpath(file), target);
  }
}

/** The Debian packages that these files of this machine belong to, by name. Files that belong to none are left out. */
export async function listDebianPackages(files: string[]): Promise<string[]> {
  if (!existsSync('/var/lib/dpkg')) return [];
  const paths = await Promise.all(files.map((file) => realpath(file)));
  // Packages name files by the path below /usr or by the one above, whichever they were built with.
  const names = paths.flatMap((path) => [path, path.replace(/^\/usr\/(bin|sbin|lib|lib64)\//, '/$1/')]);
  // Fails where one of them is of no package, and has told of the others by then.
  const output = await readOutput('sh', ['-c', 'dpkg-query --search "$@" 2>/dev/null || true', 'sh', ...names]);
  const packages = output.split('\n').map((line) => /^([^:,\s]+)/.exec(line)?.[1] ?? '');
  return [...new Set(packages.filter((name) => name !== '' && name !== 'diversion'))].sort();
}
