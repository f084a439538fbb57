import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CannotInject } from '../cannotInject.ts';
import type { CellContext } from '../cellContext.ts';

/** Loaded into the process whose disk is in trouble; made by the cell. */
const LIBRARY = join(tmpdir(), `turnpike-troubled-disk-${process.pid}.so`);
const SOURCE = new URL('troubledDisk.c', import.meta.url).pathname;
const ERRORS = { EIO: constants.errno.EIO, ENOSPC: constants.errno.ENOSPC };

const run = promisify(execFile);

/** With an environment of its own: a library that is not there yet is left out with a warning. */
export const PRELOADED = { 'model-router': { LD_PRELOAD: LIBRARY }, 'media-jobs': { LD_PRELOAD: LIBRARY } };

export interface TroubledDisk {
  /** Every operation on the spool takes so much longer from now on. */
  slowDown(ms: number): Promise<void>;
  /** Every operation on the spool fails with this error from now on. */
  fail(error: keyof typeof ERRORS): Promise<void>;
  recover(): Promise<void>;
}

/** Starts a service again on a disk that can be brought into trouble. */
export async function troubleDisk(
  { stack }: Pick<CellContext, 'stack'>,
  part: string,
  folder: string,
): Promise<TroubledDisk> {
  const control = join(stack.stateDir, `${folder}-trouble`);
  const defined = (name: string, value: string): string => `-D${name}=${JSON.stringify(value)}`;
  const settings = [defined('FOLDER', join(stack.dataDir, folder)), defined('CONTROL', control)];
  try {
    await run('gcc', ['-shared', '-fPIC', '-O2', ...settings, '-o', LIBRARY, SOURCE, '-ldl']);
  } catch (error) {
    throw new CannotInject('a disk that hangs needs gcc and the headers of libc (package build-essential)', {
      cause: error,
    });
  }
  await stack.parts.end(part);
  await stack.parts.restart(part);
  return {
    slowDown: (ms) => writeFile(control, String(ms)),
    fail: (error) => writeFile(control, String(-ERRORS[error])),
    recover: () => rm(control, { force: true }),
  };
}
