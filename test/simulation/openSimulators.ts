import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { toPartEnvironment } from '@turnpike/local-stack/toPartEnvironment';
import type { SeedResult } from './runSeed.ts';

/** The task of a process. */
export interface SeedTask {
  seed: number;
  mutation: string | undefined;
  /** Whether errors say where they were made. */
  hasStacks: boolean;
}

export interface SimulateOptions {
  first: number;
  count: number;
  /** Name of a change of the protocol that must be noticed. */
  mutation?: string;
  /** Told of every seed, in no order; false ends the run. */
  onResult: (result: SeedResult) => boolean;
}

export interface Simulators {
  /** Runs seeds, one run at a time. Rejects when a process fails, which is no finding but a defect of the simulation. */
  simulate(options: SimulateOptions): Promise<void>;
  close(): void;
}

const worker = fileURLToPath(new URL('./worker.ts', import.meta.url));
/** A world ends while much in it waits, and Node keeps what waits for a signal: half a megabyte a seed. */
const SEEDS_OF_A_PROCESS = 1_000;
/** A seed under way ends within that, unless something in it never does. */
const END_GRACE_MS = 10_000;

/** A process that ends by itself keeps what Node compiled for the next ones, which start in some three quarters of the time. */
function end(child: ChildProcess): void {
  if (child.connected) child.disconnect();
  const timer = setTimeout(() => child.kill(), END_GRACE_MS);
  timer.unref();
  child.once('exit', () => clearTimeout(timer));
}

/** Starts so many processes that live through seeds side by side; `mutant` names the mutation whose source they are to load. */
export function openSimulators(processes: number, mutant = ''): Simulators {
  const start = () => ({
    child: fork(worker, [mutant], {
      // Beside tests that wait for deadlines it gets what one part of a stack gets.
      detached: true,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      execArgv: [],
      env: toPartEnvironment(),
    }),
    seeds: 0,
  });
  const running = Array.from({ length: processes }, start);

  /** A process for one more seed. */
  function takeProcess(place: number): ChildProcess {
    const old = running[place];
    const taken = old && old.seeds < SEEDS_OF_A_PROCESS ? old : start();
    if (old && taken !== old) end(old.child);
    taken.seeds += 1;
    running[place] = taken;
    return taken.child;
  }

  return {
    async simulate({ first, count, mutation, onResult }) {
      const seeds = Array.from({ length: count }, (_, nth) => first + nth).values();
      let isOver = false;
      async function work(place: number): Promise<void> {
        for (const seed of seeds) {
          const result = await runIn(takeProcess(place), { seed, mutation, hasStacks: count === 1 });
          if (isOver) return;
          isOver = !onResult(result);
          if (isOver) return;
        }
      }
      await Promise.all(running.keys().map(work));
    },
    close() {
      for (const { child } of running) end(child);
    },
  };
}

function runIn(child: ChildProcess, task: SeedTask): Promise<SeedResult> {
  const { promise, resolve, reject } = Promise.withResolvers<SeedResult>();
  const onExit = (code: number | null): void => reject(new Error(`a simulation ended with code ${code}`));
  child.once('message', (result) => resolve(result as SeedResult));
  child.once('error', reject).once('exit', onExit);
  child.send(task);
  return promise.finally(() => child.off('error', reject).off('exit', onExit));
}
