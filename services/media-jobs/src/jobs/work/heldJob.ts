import type { Logger } from '@turnpike/logging/createLogger';
import type { Db } from '../../database/createDb.ts';
import type { Prisma } from '../../generated/client.ts';
import type { JobRow } from '../table/jobRow.ts';
import { renewLease, stepJob } from '../table/stepJob.ts';

/** The job is somebody else's by now, or has ended: whoever hears this lets go of it. */
export class JobLost extends Error {
  override name = 'JobLost';
}

const SAYS_WHEN = /\bdue_at = /;

/** A job that this worker has: it alone takes steps, until it has ended it, or has lost it. */
export class HeldJob {
  /** As the last step left it. */
  row: JobRow;
  readonly #db: Db;
  readonly #lost = new AbortController();
  /** Steps and renewals go one after the other: a renewal names the version of the step before. */
  #turn: Promise<unknown> = Promise.resolve();
  /** A step has said when the job is to be looked at next: it was the last, and no renewal puts that off. */
  #hasSaidWhen = false;

  constructor(db: Db, row: JobRow) {
    this.#db = db;
    this.row = row;
  }

  /** Fires once the job is lost. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Throws a `JobLost` where somebody was first. In the transaction of `db`, if one is given. */
  step(assignments: Prisma.Sql, db: Pick<Db, '$queryRaw'> = this.#db): Promise<JobRow> {
    return this.#inTurn(async () => {
      this.#lost.signal.throwIfAborted();
      const row = await stepJob(db, this.row, assignments);
      if (!row) throw this.#lose();
      this.#hasSaidWhen ||= SAYS_WHEN.test(assignments.sql);
      this.row = row;
      return row;
    });
  }

  renew(leaseMs: number): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#hasSaidWhen) return;
      if (!this.#lost.signal.aborted && !(await renewLease(this.#db, this.row, leaseMs))) this.#lose();
    });
  }

  /** Has whatever is under way for it stop: its client has cancelled it, or this process ends. */
  letGo(): void {
    this.#lose();
  }

  #lose(): JobLost {
    const lost = new JobLost('the job is somebody else’s by now');
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
 * Does a piece of work for a job, and keeps its lease meanwhile. Never rejects: what is lost was somebody else's to end, and what fails
 * in a way that nobody foresaw is looked at again once the lease has passed.
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
