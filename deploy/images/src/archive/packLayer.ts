import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { readOutput } from '../readOutput.ts';

/** Content of an image by its digest. */
export interface Blob {
  digest: string;
  /** Bytes. */
  size: number;
}

const STICKY = 0o1000;
const EXECUTABLE = 0o111;

/**
 * Packs a folder as a layer of an image into `file`: everything belongs to root, can be read by all and written by nobody else.
 * The same files make the same bytes, whoever packs them and when.
 */
export async function packLayer(folder: string, file: string): Promise<Blob> {
  await settleModes(folder);
  await packTar(folder, ['.'], file);
  return describeBlob(file);
}

/** Packs some names below a folder, in order. */
export async function packTar(folder: string, names: string[], file: string): Promise<void> {
  const always = ['--sort=name', '--format=gnu', '--numeric-owner', '--owner=0', '--group=0', '--mtime=@0'];
  await readOutput('tar', [...always, '--hard-dereference', '-C', folder, '-cf', file, ...names]);
}

/** The modes of a layer are none of the umask's, nor of the packages' installers. */
async function settleModes(path: string): Promise<void> {
  const facts = await lstat(path);
  if (facts.isSymbolicLink()) return;
  if (!facts.isDirectory()) return chmod(path, facts.mode & EXECUTABLE ? 0o755 : 0o644);
  await chmod(path, facts.mode & STICKY ? 0o1777 : 0o755);
  for (const name of await readdir(path)) await settleModes(join(path, name));
}

async function describeBlob(file: string): Promise<Blob> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file, { highWaterMark: 1 << 20 }), hash);
  return { digest: hash.digest('hex'), size: (await stat(file)).size };
}
