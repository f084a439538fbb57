import type { Db } from '../../database/createDb.ts';
import { Prisma } from '../../generated/client.ts';
import { interval, isDue, JOB_COLUMNS, type JobRow } from './jobRow.ts';

interface TakeDueOptions {
  leaseMs: number;
  /** The most to take. */
  limit: number;
}

/** Takes jobs that have begun and that somebody has to look at: their next poll is due, or their worker's lease has passed. */
export const takeDueWork = (db: Db, options: TakeDueOptions): Promise<JobRow[]> =>
  take(db, options, Prisma.sql`state IN ('submitting', 'running', 'storing') AND ${isDue(options.leaseMs)}`);

/** Takes jobs that have ended and of which something is left to do. What is not settled is its owner's alone. */
export const takeDueEnded = (db: Db, options: TakeDueOptions & { owner: string }): Promise<JobRow[]> =>
  take(
    db,
    options,
    Prisma.sql`state IN ('completed', 'failed', 'cancelled') AND (
      (settled_at IS NOT NULL AND due_at <= now()) OR (settled_at IS NULL AND owner = ${options.owner} AND ${isDue(options.leaseMs)})
    )`,
  );

function take(db: Db, { leaseMs, limit }: TakeDueOptions, where: Prisma.Sql): Promise<JobRow[]> {
  return db.$queryRaw<JobRow[]>(Prisma.sql`
    UPDATE job SET version = version + 1, due_at = now() + ${interval(leaseMs)}
    WHERE job_id IN (SELECT job_id FROM job WHERE ${where} ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)
    RETURNING ${JOB_COLUMNS}`);
}

/** The jobs that have been where they are for longer than they may. Takes none: whoever ends one first has ended it. */
export const listLate = (db: Db, limit: number): Promise<JobRow[]> =>
  db.$queryRaw<JobRow[]>(Prisma.sql`
    SELECT ${JOB_COLUMNS} FROM job
    WHERE deadline_at <= now() AND state IN ('queued', 'submitting', 'running', 'storing')
    ORDER BY deadline_at LIMIT ${limit}`);

/** Queued jobs of models that are not to be run any more. */
export const listQueuedOf = (db: Db, models: readonly string[], limit: number): Promise<JobRow[]> =>
  db.$queryRaw<JobRow[]>(Prisma.sql`
    SELECT ${JOB_COLUMNS} FROM job WHERE state = 'queued' AND model = ANY(${models}) LIMIT ${limit}`);
