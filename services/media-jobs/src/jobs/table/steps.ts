import type { Queryable } from '@turnpike/postgres/database';
import { type Sql, sql } from '@turnpike/postgres/sql';
import type { JobDependencies } from '../dependencies.ts';
import { ENDED, type Given, type TransitionName, toStep, UNDER_WAY } from '../transitions.ts';
import { interval, isDue, isIn, JOB_COLUMNS, type JobRow } from './jobRow.ts';

/** The row as its process has read it. */
type ReadRow = Pick<JobRow, 'jobId' | 'version' | 'state' | 'replica'>;

/**
 * Takes one transition of a job, and counts its attempt. Returns undefined if another process has changed the row since it was read.
 * Throws if the transition does not start from the state of the row.
 */
export async function stepJob<Name extends TransitionName>(
  { db, metrics }: { db: Queryable; metrics: Pick<JobDependencies['metrics'], 'attemptEnded'> },
  { jobId, version, state, replica }: ReadRow,
  name: Name,
  ...values: Given<Name>
): Promise<JobRow | undefined> {
  const { from, assignments, result } = toStep(name, values);
  if (!from.includes(state)) throw new Error(`a job that is ${state} has no transition ${name}`);
  const [row] = await db.query(sql<JobRow>`
    UPDATE job SET ${assignments} WHERE job_id = ${jobId} AND version = ${version} RETURNING ${JOB_COLUMNS}`);
  // A job in the queue is in no attempt.
  if (row && result !== undefined && replica !== null && state !== 'queued')
    metrics.attemptEnded({ id: replica }, result);
  return row;
}

/** Renews a lease. Returns false if another process has the job. */
export async function renewLease(
  db: Queryable,
  { jobId, version }: Pick<JobRow, 'jobId' | 'version'>,
  leaseMs: number,
): Promise<boolean> {
  const changed = await db.execute(sql`
    UPDATE job SET due_at = now() + ${interval(leaseMs)} WHERE job_id = ${jobId} AND version = ${version}`);
  return changed > 0;
}

interface TakeOptions {
  leaseMs: number;
  /** Most jobs to take. */
  limit: number;
}

/** Takes running jobs with a due poll or a lapsed lease. */
export const takeDueWork = (db: Queryable, options: TakeOptions): Promise<JobRow[]> =>
  take(db, 'takeWork', options, sql`${isIn(UNDER_WAY)} AND ${isDue(options.leaseMs)}`);

/** Takes ended jobs with a remaining step. Only the owner takes a job that is not settled. */
export const takeDueEnded = (
  db: Queryable,
  { owner, ...options }: TakeOptions & { owner: string },
): Promise<JobRow[]> =>
  take(
    db,
    'takeEnded',
    options,
    sql`${isIn(ENDED)} AND (
      (settled_at IS NOT NULL AND due_at <= now()) OR (settled_at IS NULL AND owner = ${owner} AND ${isDue(options.leaseMs)})
    )`,
  );

const take = (
  db: Queryable,
  name: 'takeWork' | 'takeEnded',
  { leaseMs, limit }: TakeOptions,
  where: Sql,
): Promise<JobRow[]> =>
  db.query(sql<JobRow>`
    UPDATE job SET ${toStep(name, [{ leaseMs }]).assignments}
    WHERE job_id IN (SELECT job_id FROM job WHERE ${where} ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)
    RETURNING ${JOB_COLUMNS}`);
