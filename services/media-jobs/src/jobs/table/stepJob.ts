import type { Db } from '../../database/createDb.ts';
import { Prisma } from '../../generated/client.ts';
import { interval, JOB_COLUMNS, type JobRow } from './jobRow.ts';

/** Which state of a row a step goes by: every step makes another version of it. */
export type RowVersion = Pick<JobRow, 'jobId' | 'version'>;

/** One step of a job: a compare-and-set. Undefined where somebody else was first, so that this row is not what it was. */
export async function stepJob(
  db: Pick<Db, '$queryRaw'>,
  { jobId, version }: RowVersion,
  assignments: Prisma.Sql,
): Promise<JobRow | undefined> {
  const rows = await db.$queryRaw<JobRow[]>(Prisma.sql`
    UPDATE job SET version = version + 1, ${assignments} WHERE job_id = ${jobId} AND version = ${version}
    RETURNING ${JOB_COLUMNS}`);
  return rows[0];
}

/** Has a lease go on. False where the job is somebody else's by now. */
export async function renewLease(db: Db, { jobId, version }: RowVersion, leaseMs: number): Promise<boolean> {
  const changed = await db.$executeRaw(Prisma.sql`
    UPDATE job SET due_at = now() + ${interval(leaseMs)} WHERE job_id = ${jobId} AND version = ${version}`);
  return changed > 0;
}
