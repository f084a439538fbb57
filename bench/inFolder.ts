import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunningStack, StackOptions } from '@turnpike/local-stack/startStack';
import { startStackSomewhere } from '@turnpike/local-stack/startStackSomewhere';
import type { Stopwatch } from './createStopwatch.ts';

/** Runs with a new folder, which is removed at the end. */
export async function inFolder<T>(run: (dir: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), 'turnpike-bench-'));
  try {
    return await run(dir);
  } finally {
    await rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

/** Runs with a stack without Kafka in a new folder, both of which are gone at the end. */
export const withStack = <T>(
  { timed, ...options }: Omit<StackOptions<'us'>, 'portBase' | 'stateDir' | 'kafka'> & { timed: Stopwatch['timed'] },
  run: (running: RunningStack, dir: string) => Promise<T>,
): Promise<T> =>
  inFolder(async (stateDir) => {
    const running = await timed('start', () => startStackSomewhere({ stateDir, kafka: false, ...options }));
    try {
      return await run(running, stateDir);
    } finally {
      await running.stop();
    }
  });
