import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A folder of files for a test. */
export interface TestFolder {
  path: string;
  /** Writes a file and gives its path. */
  write(name: string, bytes: Buffer | string): Promise<string>;
  /** Makes a file with ffmpeg, and returns its path. */
  make(name: string, args: readonly string[]): Promise<string>;
  remove(): Promise<void>;
}

export async function aTestFolder(): Promise<TestFolder> {
  const path = await mkdtemp(join(tmpdir(), 'turnpike-media-jobs-'));
  const pathOf = (name: string): string => join(path, name);
  return {
    path,
    async write(name, bytes) {
      await writeFile(pathOf(name), bytes);
      return pathOf(name);
    },
    async make(name, args) {
      await run('ffmpeg', ['-hide_banner', '-loglevel', 'error', '-y', ...args, pathOf(name)]);
      return pathOf(name);
    },
    remove: () => rm(path, { recursive: true }),
  };
}

/** The arguments by which ffmpeg makes so many seconds of a tone. */
export const aTone = (seconds: number, rate = 44_100): string[] => [
  ...['-f', 'lavfi', '-i', `sine=frequency=440:sample_rate=${rate}:duration=${seconds}`],
];
