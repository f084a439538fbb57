import { setTimeout as delay } from 'node:timers/promises';
import type { Hold } from '@turnpike/holds/call/pendingCalls';
import type { Repetition } from '@turnpike/lifecycle/repeat';
import type { ByteRange, ObjectContent } from '@turnpike/object-store/objectStore';
import type { Queryable } from '@turnpike/postgres/database';
import type { ShownJob, StoredOutput } from '../terms/job.ts';
import type { JobDependencies } from './dependencies.ts';
import { createEstimate } from './estimate.ts';
import { type AnswerToKeep, keepAnswer } from './keepAnswer.ts';
import { type JobToMake, makeJob } from './makeJob.ts';
import { observeJobs } from './observeJobs.ts';
import { keepClaim, obtainClaim, untilAnswered, watchCreations } from './obtainClaim.ts';
import { followOwners } from './owners/followOwners.ts';
import { pollJobs } from './pollJobs.ts';
import { listOverdue, type OverdueJob } from './removal/listOverdue.ts';
import { reapOrphans } from './removal/reapOrphans.ts';
import { sweepStrays } from './removal/sweepStrays.ts';
import { type Claim, type Creating, endClaim, forgetClaim } from './table/creations.ts';
import {
  countAhead,
  countQueued,
  findJob,
  type JobAddress,
  type JobList,
  listJobs,
  type Queue,
  type SeenJob,
} from './table/findJobs.ts';
import { letBegin } from './table/insertJob.ts';
import { isOpen, type JobRow } from './table/jobRow.ts';
import { stepJob } from './table/steps.ts';
import { createTextKeys } from './textKeys.ts';
import { GRACE_MS, KEEP_MS, LEASE_MS, POLL_MS, RUN_TIMES, UNDO_MS } from './times.ts';
import { toShownJob } from './toShownJob.ts';
import { watchJobs } from './watchJobs.ts';
import { toEnd } from './work/endJob.ts';

export interface JobsOptions extends Omit<JobDependencies, 'texts' | 'estimate' | 'leaseMs' | 'runTimes' | 'undoMs'> {
  /** Pool of clients' read requests, so that these delay no lease, owner or job. */
  lookUpDb: Queryable;
  /** Jobs of one model that a key may have in the queue. */
  queuedPerKey: number;
  /** Called when a client cancels a job that an engine works on. */
  onRunCancelled: (run: { keyId: string; ranMs: number }) => void;
  /** Tests set other times. */
  leaseMs?: number;
  runTimes?: JobDependencies['runTimes'];
  undoMs?: number;
  keepMs?: number;
  graceMs?: number;
  pollMs?: number;
  owners?: { livesMs: number; beatMs: number; inDoubtMs?: number };
  reaper?: { roundMs: number; unnamedMs: number };
  observer?: { roundMs: number };
}

/** Jobs as routes see them. A key sees no job that it did not make, has deleted, or has let expire. */
export interface Jobs {
  /**
   * Returns the job of the call that this one repeats, or the claim under which this one may make a job. Rejects if neither comes in time,
   * or the signal fires.
   */
  obtain(call: Creating, signal: AbortSignal): Promise<{ job: ShownJob } | { claim: Claim }>;
  /** Renews a claim until it is closed. */
  keepClaim(claim: Claim, times?: { beatMs: number }): Pick<Repetition, 'close'>;
  /** Ends a claim without a job. `isRepeated`: its client may send the call again. */
  giveUp(claim: Claim, options: { isRepeated: boolean }): void;
  /** Makes a job of an admitted call. Releases the hold if that fails. */
  make(job: JobToMake): Promise<ShownJob>;
  /**
   * Keeps the answer of a call for its retries. The caller calls the returned function once the call is settled. An answer that cannot be
   * kept ends the claim, so that a retry is a call of its own. Never rejects.
   */
  keepAnswer(answer: AnswerToKeep): Promise<() => void>;
  /** Releases the hold of an admitted call that becomes no job. */
  giveBack(hold: Hold): Promise<void>;
  find(address: JobAddress): Promise<ShownJob | undefined>;
  list(list: JobList): Promise<ShownJob[]>;
  /** Cancels a job, or expires an ended one so that its bytes are removed. Returns false if there is no such job. */
  remove(address: JobAddress): Promise<boolean>;
  /** Returns the job once its status has changed, or the signal fires. */
  untilChanged(address: JobAddress, was: ShownJob['status'], signal: AbortSignal): Promise<ShownJob | undefined>;
  /** Returns the job once it has ended, or the signal fires. */
  untilEnded(address: JobAddress, signal: AbortSignal): Promise<ShownJob | undefined>;
  content(output: StoredOutput, range?: ByteRange): Promise<ObjectContent>;
  /** Returns the time until a job that came now would be done; undefined if unknown, infinite if no replica could render it. */
  expectWaitMs(queue: Queue): Promise<number | undefined>;
  /**
   * Takes room in the queue for one more job of the key, up to the limit. The caller calls `leave` once the row is made. `leave` is undefined
   * if there is no room.
   */
  takeRoom(queue: Queue): Promise<{ leave: (() => void) | undefined; limit: number }>;
  listOverdue(): Promise<OverdueJob[]>;
  close(): Promise<void>;
}

/** Opens the queue: from then on this process begins jobs, works on them, ends them and removes them. */
export async function openJobs(options: JobsOptions): Promise<Jobs> {
  const {
    db,
    lookUpDb,
    queuedPerKey,
    onRunCancelled,
    store,
    backends,
    money,
    metrics,
    log,
    owners: ownerTimes,
    reaper,
    observer,
    graceMs = GRACE_MS,
    pollMs = POLL_MS,
    keepMs = KEEP_MS,
    ...rest
  } = options;
  const estimate = createEstimate(db, { log });
  const texts = createTextKeys(store);
  const dependencies: JobDependencies = {
    leaseMs: LEASE_MS,
    runTimes: RUN_TIMES,
    undoMs: UNDO_MS,
    ...rest,
    db,
    store,
    backends,
    money,
    metrics,
    log,
    texts,
    estimate,
  };
  const watch = watchJobs(db, { log });
  const creations = watchCreations(db);
  const poll = pollJobs(dependencies, { pollMs, onStep: watch.wake });
  const owners = await followOwners({ db, money, log, onTaken: poll.wake, ...ownerTimes });
  const reaping = reapOrphans({ db, backends, metrics, log, ...reaper });
  const sweeping = sweepStrays({ db, store, metrics, log });
  const observing = observeJobs({ db, metrics, log, ...observer });

  /** Calls of this process with room in the queue and no row yet, by key and model. */
  const making = new Map<string, number>();

  async function show(row: SeenJob): Promise<ShownJob> {
    // A job is shown without its prompt rather than not at all.
    const { prompt } = row.operation === 'videos' ? await texts.open(row).catch(() => ({ prompt: undefined })) : {};
    return toShownJob(row, { queuePosition: row.queuePosition, prompt: prompt ?? null });
  }

  /** Waits until the job is as wanted, or the signal fires. */
  async function until(
    pool: Queryable,
    address: JobAddress,
    isWanted: (job: ShownJob) => boolean,
    signal: AbortSignal,
  ): Promise<ShownJob | undefined> {
    for (;;) {
      const row = await findJob(pool, address);
      if (!row) return undefined;
      const job = await show(row);
      if (signal.aborted || isWanted(job)) return job;
      await watch.untilChanged({ jobId: row.jobId, state: row.state }, signal);
    }
  }

  const begin = (jobId: string): void => void untilAnswered(() => letBegin(db, jobId), { log }).then(poll.wake);

  return {
    async obtain(call, signal) {
      const obtained = await obtainClaim(db, call, { watch: creations, signal });
      if ('claim' in obtained) return obtained;
      const row = await findJob(db, { jobId: obtained.jobId, keyId: call.keyId });
      if (!row) throw new Error('the job of a call that is repeated is gone');
      begin(row.jobId);
      return { job: await show(row) };
    },
    keepClaim: (claim, times) => keepClaim(db, claim, { log, ...times }),
    giveUp: (claim, { isRepeated }) =>
      void untilAnswered(() => (isRepeated ? endClaim(db, claim) : forgetClaim(db, claim)), { log }),
    async make(job) {
      const row = await makeJob(dependencies, job).catch((error: unknown) => {
        owners.keep(job.hold, 'in doubt');
        throw error;
      });
      owners.keep(job.hold, 'made');
      // A job is shown without its place rather than not at all.
      const seen = await findJob(db, row).catch(() => undefined);
      begin(row.jobId);
      return show(seen ?? { ...row, queuePosition: null });
    },
    async keepAnswer(answer) {
      const keeping = keepAnswer(dependencies, answer);
      try {
        await Promise.race([keeping, rejectAfter(keepMs)]);
      } catch (error) {
        log.warn({ err: error }, 'an answer is not kept: a retry of its call is a call of its own');
        void untilAnswered(() => endClaim(db, answer.claim), { log });
      }
      // The row may be made after the client's wait, if the claim has not ended by then.
      const note = (row: JobRow) => untilAnswered(() => stepJob(dependencies, row, 'settleAnswer'), { log });
      return () => void keeping.then(note, () => {});
    },
    giveBack: (hold) => money.holds.release(hold),
    async find(address) {
      const row = await findJob(lookUpDb, address);
      return row && show(row);
    },
    list: async (list) => Promise.all((await listJobs(lookUpDb, list)).map(show)),
    async remove(address) {
      for (;;) {
        const row = await findJob(db, address);
        if (!row) return false;
        const stepped = isOpen(row.state)
          ? await stepJob(dependencies, row, 'cancel', toEnd(row, { name: 'cancel' }, dependencies))
          : await stepJob(dependencies, row, 'hide');
        // Another process was first: the job is read again.
        if (!stepped) continue;
        if (isOpen(row.state) && row.state !== 'queued' && row.sentAt)
          onRunCancelled({ keyId: row.keyId, ranMs: row.now.getTime() - row.sentAt.getTime() });
        poll.check(row.jobId);
        poll.wake();
        return true;
      }
    },
    untilChanged: (address, was, signal) => until(lookUpDb, address, ({ status }) => status !== was, signal),
    untilEnded: (address, signal) =>
      until(db, address, ({ status }) => status === 'completed' || status === 'failed', signal),
    content: ({ key }, range) => store.get(key, range),
    async expectWaitMs(queue) {
      const { model } = queue;
      const up = backends.list().filter(({ replica, isUp }) => isUp && !replica.draining && replica.model === model);
      const slots = up.reduce((sum, { replica }) => sum + replica.slots, 0);
      if (slots === 0) return Number.POSITIVE_INFINITY;
      return estimate.waitMs(model, {
        jobs: await countAhead(
          db,
          queue,
          up.map(({ replica }) => replica.id),
        ),
        slots,
      });
    },
    async takeRoom(queue) {
      const name = `${queue.keyId} ${queue.model}`;
      const before = making.get(name) ?? 0;
      making.set(name, before + 1);
      const leave = (): void => {
        const left = (making.get(name) ?? 1) - 1;
        if (left > 0) making.set(name, left);
        else making.delete(name);
      };
      const queued = await countQueued(db, queue, queuedPerKey).catch((error: unknown) => {
        leave();
        throw error;
      });
      if (queued + before < queuedPerKey) return { leave, limit: queuedPerKey };
      leave();
      return { leave: undefined, limit: queuedPerKey };
    },
    listOverdue: () => listOverdue(db),
    async close() {
      await Promise.all([reaping.close(), sweeping.close(), observing.close(), estimate.close()]);
      await poll.close(graceMs);
      await owners.close();
    },
  };
}

/** Rejects after `ms`, and does not keep the process running. */
async function rejectAfter(ms: number): Promise<never> {
  await delay(ms, undefined, { ref: false });
  throw new Error(`store and database take longer than ${ms} ms`);
}
