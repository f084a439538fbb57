import { repeat } from '@turnpike/lifecycle/repeat';
import type { JobRow } from './table/jobRow.ts';
import { stepJob } from './table/stepJob.ts';
import { listLate, listQueuedOf, takeDueEnded, takeDueWork } from './table/takeDue.ts';
import { listQueuedModels, takeQueued } from './table/takeQueued.ts';
import { countAttempt } from './work/countAttempt.ts';
import { toEnd } from './work/endJob.ts';
import { HeldJob, withLease } from './work/heldJob.ts';
import type { House } from './work/house.ts';
import { tendEnded } from './work/tendEnded.ts';
import { beginOn, goOn } from './work/workOn.ts';

/** Jobs that a process works on at once: most of that is waiting for backends and for the store. */
const MOST_AT_WORK = 64;
/** How long a job that one replica has turned away is left to the others. */
const LEFT_TO_OTHERS_MS = 2_000;
/** Ended jobs that a process tends at once. */
const MOST_TENDED = 32;
/** Jobs that are late, or of a model that is not run any more, ended in one look. */
const MOST_ENDED = 100;

export interface Looks {
  /** Has this process look at once: a job has come, or a slot has become free. */
  wake(): void;
  /** Has whoever of this process works on a job look whether it still has it. */
  check(jobId: string): void;
  /** Takes nothing more. What is at work has so long to end; other processes, or the next one, go on with the rest. */
  close(graceMs: number): Promise<void>;
}

/** Looks every so often for jobs that have their turn, or at which somebody has to look, and works on them. */
export function runLooks(house: House, { lookMs, onStep }: { lookMs: number; onStep: () => void }): Looks {
  const { db, backends, money, leaseMs, runTimes, activePerKey, log } = house;
  const atWork = new Map<string, HeldJob>();
  const tended = new Map<string, HeldJob>();
  const running = new Set<Promise<void>>();

  function start(row: JobRow, taken: Map<string, HeldJob>, work: (held: HeldJob) => Promise<void>): void {
    const held = new HeldJob(db, row);
    // Of this process, which has let its lease pass.
    taken.get(row.jobId)?.letGo();
    taken.set(row.jobId, held);
    const done = withLease(held, { leaseMs, log }, work).finally(() => {
      if (taken.get(row.jobId) === held) taken.delete(row.jobId);
      running.delete(done);
      onStep();
      wake();
    });
    running.add(done);
  }

  async function beginQueued(): Promise<void> {
    const models = new Set(await listQueuedModels(db));
    if (models.size === 0) return;
    const open = backends.list().filter(({ replica, isUp }) => isUp && !replica.draining);
    for (const { replica } of open) {
      if (!models.has(replica.model)) continue;
      const hasOthers = open.some((other) => other.replica.model === replica.model && other.replica !== replica);
      const leftToOthersMs = hasOthers ? LEFT_TO_OTHERS_MS : 0;
      while (atWork.size < MOST_AT_WORK) {
        const row = await takeQueued(db, { replica, activePerKey, leftToOthersMs, leaseMs, runTimes });
        if (!row) break;
        start(row, atWork, (held) => beginOn(held, replica, house));
      }
    }
  }

  async function goOnWithDue(): Promise<void> {
    const limit = MOST_AT_WORK - atWork.size;
    if (limit <= 0) return;
    for (const row of await takeDueWork(db, { leaseMs, limit })) start(row, atWork, (held) => goOn(held, house));
  }

  async function tendDue(): Promise<void> {
    const limit = MOST_TENDED - tended.size;
    if (limit <= 0) return;
    for (const row of await takeDueEnded(db, { owner: money.owner, leaseMs, limit }))
      start(row, tended, (held) => tendEnded(held, house));
  }

  async function endWhatIsOver(): Promise<void> {
    for (const row of await listLate(db, MOST_ENDED)) {
      const code =
        row.state === 'storing' ? 'storage_unavailable' : row.begunAt === null ? 'queue_timeout' : 'timed_out';
      // Whoever was first has ended it.
      if (await stepJob(db, row, toEnd(row, { state: 'failed', code }, money))) countAttempt(row, code, house);
      check(row.jobId);
    }
    const disabled = house.disabledModels();
    if (disabled.length === 0) return;
    for (const row of await listQueuedOf(db, disabled, MOST_ENDED))
      await stepJob(db, row, toEnd(row, { state: 'failed', code: 'model_deactivated' }, money));
  }

  function check(jobId: string): void {
    void atWork
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
    { pauseMs: lookMs, log, failing: 'jobs cannot be looked for: those under way go on, and none is begun' },
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
        for (const held of [...atWork.values(), ...tended.values()]) held.letGo();
      }, graceMs);
      await ended;
      clearTimeout(timer);
    },
  };
}
