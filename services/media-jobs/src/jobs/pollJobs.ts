import { repeat } from '@turnpike/lifecycle/repeat';
import type { JobDependencies } from './dependencies.ts';
import { listLate, listQueuedOf } from './table/findJobs.ts';
import type { JobRow } from './table/jobRow.ts';
import { stepJob, takeDueEnded, takeDueWork } from './table/steps.ts';
import { listQueuedModels, takeQueued } from './table/takeQueued.ts';
import { toEnd } from './work/endJob.ts';
import { HeldJob, withLease } from './work/heldJob.ts';
import { tendEnded } from './work/tendEnded.ts';
import { beginOn, goOn } from './work/workOn.ts';

/**
 * Most jobs of a model that a process begins at once. Renders that hang keep no job of another model from beginning. Their workers mostly
 * wait for backends and for the store.
 */
const MOST_BEGUN_OF_MODEL = 64;
/** Most jobs that a process continues at once. */
const MOST_CONTINUED = 64;
/** Time for which a job that one replica has turned away is left to the others. */
const LEFT_TO_OTHERS_MS = 2_000;
/** Most ended jobs that a process tends at once. */
const MOST_TENDED = 32;
/** Most jobs that one poll ends, because they are late or their model is disabled. */
const MOST_ENDED = 100;

export interface JobPoll {
  /** Polls at once: a job has come, or a slot has become free. */
  wake(): void;
  /** Checks whether the worker of this process still has a job. */
  check(jobId: string): void;
  /** Takes no more jobs. Those at work have `graceMs` to end; other processes, or the next one, continue with the rest. */
  close(graceMs: number): Promise<void>;
}

/** Polls every `pollMs` for jobs that have their turn, or that are due, and works on them. */
export function pollJobs(
  dependencies: JobDependencies,
  { pollMs, onStep }: { pollMs: number; onStep: () => void },
): JobPoll {
  const { db, backends, money, leaseMs, runTimes, activePerKey, log } = dependencies;
  const begun = new Map<string, HeldJob>();
  /** Apart from those that are begun, because renders that hang must not keep clips from being polled. */
  const continued = new Map<string, HeldJob>();
  const tended = new Map<string, HeldJob>();
  const running = new Set<Promise<void>>();

  function start(row: JobRow, taken: Map<string, HeldJob>, work: (held: HeldJob) => Promise<void>): void {
    const held = new HeldJob(dependencies, row);
    // A worker of this process may have let its lease lapse.
    for (const workers of [begun, continued, tended]) workers.get(row.jobId)?.letGo();
    taken.set(row.jobId, held);
    const done = withLease(held, { leaseMs, log }, work).finally(() => {
      if (taken.get(row.jobId) === held) taken.delete(row.jobId);
      running.delete(done);
      onStep();
      wake();
    });
    running.add(done);
  }

  const countBegun = (model: string): number =>
    [...begun.values()].reduce((count, { row }) => count + (row.model === model ? 1 : 0), 0);

  async function beginQueued(): Promise<void> {
    const models = new Set(await listQueuedModels(db));
    if (models.size === 0) return;
    const open = backends.list().filter(({ replica, isUp }) => isUp && !replica.draining);
    for (const { replica } of open) {
      if (!models.has(replica.model)) continue;
      const hasOthers = open.some((other) => other.replica.model === replica.model && other.replica !== replica);
      const leftToOthersMs = hasOthers ? LEFT_TO_OTHERS_MS : 0;
      while (countBegun(replica.model) < MOST_BEGUN_OF_MODEL) {
        const row = await takeQueued(db, { replica, activePerKey, leftToOthersMs, leaseMs, runTimes });
        if (!row) break;
        start(row, begun, (held) => beginOn(held, replica, dependencies));
      }
    }
  }

  async function goOnWithDue(): Promise<void> {
    const limit = MOST_CONTINUED - continued.size;
    if (limit <= 0) return;
    for (const row of await takeDueWork(db, { leaseMs, limit }))
      start(row, continued, (held) => goOn(held, dependencies));
  }

  async function tendDue(): Promise<void> {
    const limit = MOST_TENDED - tended.size;
    if (limit <= 0) return;
    for (const row of await takeDueEnded(db, { owner: money.owner, leaseMs, limit }))
      start(row, tended, (held) => tendEnded(held, dependencies));
  }

  async function endWhatIsOver(): Promise<void> {
    for (const row of await listLate(db, MOST_ENDED)) {
      const code =
        row.state === 'storing' ? 'storage_unavailable' : row.begunAt === null ? 'queue_timeout' : 'timed_out';
      await stepJob(dependencies, row, 'fail', toEnd(row, { name: 'fail', code }, dependencies));
      check(row.jobId);
    }
    const disabled = dependencies.disabledModels();
    if (disabled.length === 0) return;
    for (const row of await listQueuedOf(db, disabled, MOST_ENDED))
      await stepJob(dependencies, row, 'fail', toEnd(row, { name: 'fail', code: 'model_deactivated' }, dependencies));
  }

  function check(jobId: string): void {
    for (const workers of [begun, continued])
      void workers
        .get(jobId)
        ?.renew(leaseMs)
        .catch(() => {});
  }

  const looking = repeat(
    async () => {
      await endWhatIsOver();
      await beginQueued();
      await goOnWithDue();
      await tendDue();
    },
    { pauseMs: pollMs, log, failing: 'jobs cannot be looked for: those under way go on, and none is begun' },
  );
  function wake(): void {
    void looking.now().catch(() => {});
  }
  return {
    wake,
    check,
    async close(graceMs) {
      await looking.close();
      const ended = Promise.all(running);
      const timer = setTimeout(() => {
        for (const held of [...begun.values(), ...continued.values(), ...tended.values()]) held.letGo();
      }, graceMs);
      await ended;
      clearTimeout(timer);
    },
  };
}
