import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { hasCommand, installDebianPackages } from '@turnpike/local-stack/tools/installDebianPackages';
import { CannotInject } from '../cannotInject.ts';
import type { FaultStack } from './startFaultStack.ts';

const run = promisify(execFile);
const SOURCE = join(import.meta.dirname, 'shiftClocks.c');

/** The clocks of one part. */
export interface FakeClock {
  /** Sets the time of day ahead of the machine's, or behind it if negative, and the monotonic clock by `monotonicAheadMs`. */
  setAhead(aheadMs: number, monotonicAheadMs?: number): Promise<void>;
}

/**
 * Starts a part again with clocks of its own, which are right at first; for a stack that no other cell uses. Throws `CannotInject`
 * where no C compiler can be had.
 */
export async function fakeClock(stack: FaultStack, part: string): Promise<FakeClock> {
  if (!hasCommand('cc'))
    await installDebianPackages(['gcc', 'libc6-dev'], 'A C compiler', () => undefined).catch((error: Error) => {
      throw new CannotInject(error.message);
    });
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-clocks-'));
  stack.stopLater(() => rm(folder, { recursive: true }));
  await chmod(folder, 0o755); // Postgres runs as another user.
  const library = join(folder, 'shiftClocks.so');
  await run('cc', ['-shared', '-fPIC', '-O2', '-o', library, SOURCE]);
  const file = join(folder, 'ahead');
  const toBytes = (...ms: [number, number]): Uint8Array => new Uint8Array(BigInt64Array.from(ms, BigInt).buffer);
  await writeFile(file, toBytes(0, 0));
  await stack.parts.kill(part);
  await stack.parts.restart(part, { LD_PRELOAD: library, CLOCKS_FILE: file });
  await stack.untilReady();
  return {
    // In place, because the part has the file mapped.
    setAhead: (aheadMs, monotonicAheadMs = 0) => writeFile(file, toBytes(aheadMs, monotonicAheadMs), { flag: 'r+' }),
  };
}
