import type { Logger } from '@turnpike/logging/createLogger';
import type { JobDependencies } from '../dependencies.ts';
import type { JobRow } from '../table/jobRow.ts';
import { renewLease, stepJob } from '../table/steps.ts';
import { type Given, TRANSITIONS, type TransitionName } from '../transitions.ts';

/** Another process has the job, or the job has ended: the worker drops it. */
export class JobLost extends Error {
  override name = 'JobLost';
}

/** A job that this worker alone changes, until the worker has ended it or another process takes it. */
export class HeldJob {
  /** Row after the last step. */
  row: JobRow;
  readonly #dependencies: Pick<JobDependencies, 'db' | 'metrics'>;
  readonly #lost = new AbortController();
  /** Steps and renewals run one after the other, because a renewal names the version of the step before. */
  #turn: Promise<unknown> = Promise.resolve();
  /** The worker's last step is taken: it has set `due_at`, which no renewal moves. */
  #isOver = false;

  constructor(dependencies: Pick<JobDependencies, 'db' | 'metrics'>, row: JobRow) {
    this.#dependencies = dependencies;
    this.row = row;
  }

  /** Fires once the job is lost. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Takes a transition. Throws a `JobLost` if another process has changed the row. */
  step<Name extends TransitionName>(name: Name, ...values: Given<Name>): Promise<JobRow> {
    return this.#inTurn(async () => {
      this.#lost.signal.throwIfAborted();
      const row = await stepJob(this.#dependencies, this.row, name, ...values);
      if (!row) throw this.#lose();
      this.#isOver ||= TRANSITIONS[name].due !== undefined;
      this.row = row;
      return row;
    });
  }

  renew(leaseMs: number): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#isOver || this.#lost.signal.aborted) return;
      if (!(await renewLease(this.#dependencies.db, this.row, leaseMs))) this.#lose();
    });
  }

  /** Stops all work on the job: its client has cancelled it, or this process ends. */
  letGo(): void {
    this.#lose();
  }

  #lose(): JobLost {
    const lost = new JobLost('another process has the job, or the job has ended');
    this.#lost.abort(lost);
    return lost;
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#turn.then(work, work);
    this.#turn = done.catch(() => {});
    return done;
  }
}

/**
 * Works on a job, and renews its lease meanwhile. Never rejects: another process ends a job that was lost, and work that fails
 * unexpectedly is taken up again once the lease has lapsed.
 */
export async function withLease(
  held: HeldJob,
  { leaseMs, log }: { leaseMs: number; log: Logger },
  work: (held: HeldJob) => Promise<void>,
): Promise<void> {
  const { jobId } = held.row;
  const renewing = setInterval(() => {
    held.renew(leaseMs).catch((error: unknown) => log.warn({ err: error, jobId }, 'a lease could not be renewed'));
  }, leaseMs / 3);
  try {
    await work(held);
  } catch (error) {
    if (!held.signal.aborted) log.error({ err: error, jobId }, 'work on a job failed, and is taken up again');
  } finally {
    clearInterval(renewing);
  }
}
