import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { toPartEnvironment } from '@turnpike/local-stack/toPartEnvironment';
import type { SeedResult } from './runSeed.ts';

export interface SimulateSeedsOptions {
  first: number;
  count: number;
  /** Seeds are shared among so many processes. */
  processes: number;
  /** Name of a change of the protocol that must be noticed. */
  mutation?: string;
  /** Told of every seed, in no order; false ends the run. */
  onResult: (result: SeedResult) => boolean;
}

const worker = fileURLToPath(new URL('./worker.ts', import.meta.url));

/** Runs seeds in processes of their own. Rejects when one of these fails, which is no finding but a defect of the simulation. */
export async function simulateSeeds({
  first,
  count,
  processes,
  mutation,
  onResult,
}: SimulateSeedsOptions): Promise<void> {
  const shares = Array.from({ length: Math.min(processes, count) }, (_, nth) => nth);
  const children = shares.map((nth) => {
    const own = Math.ceil((count - nth) / shares.length);
    const args = [first + nth, own, shares.length, mutation ?? ''].map(String);
    return fork(worker, args, {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      execArgv: [],
      env: toPartEnvironment(),
    });
  });
  let isOver = false;
  const ends = children.map(
    (child) =>
      new Promise<void>((resolve, reject) => {
        child.on('message', (result) => {
          if (isOver || onResult(result as SeedResult)) return;
          isOver = true;
          for (const each of children) each.kill();
        });
        child.once('error', reject);
        child.once('exit', (code) =>
          code === 0 || isOver ? resolve() : reject(new Error(`a simulation ended with code ${code}`)),
        );
      }),
  );
  try {
    await Promise.all(ends);
  } finally {
    for (const child of children) child.kill();
  }
}
