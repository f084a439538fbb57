import type { Db } from '../../database/createDb.ts';
import { Prisma } from '../../generated/client.ts';
import { JOB_COLUMNS, type JobRow } from './jobRow.ts';

/** A job by its id, for the key that made it. */
export interface JobAddress {
  jobId: string;
  keyId: string;
}

/** What a client can see: not what it has cancelled, and nothing from its expiry on, whenever its bytes are removed. */
const IS_SHOWN = Prisma.sql`state <> 'cancelled' AND (expires_at IS NULL OR expires_at > now())`;

export async function findJob(db: Pick<Db, '$queryRaw'>, { jobId, keyId }: JobAddress): Promise<JobRow | undefined> {
  const rows = await db.$queryRaw<JobRow[]>(Prisma.sql`
    SELECT ${JOB_COLUMNS} FROM job WHERE job_id = ${jobId} AND key_id = ${keyId} AND ${IS_SHOWN}`);
  return rows[0];
}

export interface JobList {
  keyId: string;
  modality: JobRow['modality'];
  order: 'asc' | 'desc';
  limit: number;
  /** The id that the page before ended with, which may have expired since. */
  after: string | undefined;
}

/** A page of a key's jobs by when they were made. An id that is nobody's begins at the beginning. */
export function listJobs(db: Db, { keyId, modality, order, limit, after }: JobList): Promise<JobRow[]> {
  const isDescending = order === 'desc';
  const comparison = isDescending ? Prisma.sql`<` : Prisma.sql`>`;
  const direction = isDescending ? Prisma.sql`DESC` : Prisma.sql`ASC`;
  const from =
    after === undefined
      ? Prisma.sql`true`
      : Prisma.sql`(created_at, job_id) ${comparison} (
          SELECT last.created_at, last.job_id FROM job AS last WHERE last.job_id = ${after} AND last.key_id = ${keyId})`;
  return db.$queryRaw<JobRow[]>(Prisma.sql`
    SELECT ${JOB_COLUMNS} FROM job
    WHERE key_id = ${keyId} AND modality = ${modality} AND NOT is_hidden AND removed_at IS NULL AND ${IS_SHOWN} AND ${from}
    ORDER BY created_at ${direction}, job_id ${direction} LIMIT ${limit}`);
}

/** How many jobs have their turn before this one at the most: those before it of its workspace, and as many of each other one. */
export async function readQueuePosition(db: Db, { jobId, model, workspaceId, createdAt }: JobRow): Promise<number> {
  const [row] = await db.$queryRaw<{ position: number }[]>(Prisma.sql`
    WITH mine AS (
      SELECT count(*) AS before FROM job
      WHERE state = 'queued' AND model = ${model} AND workspace_id = ${workspaceId}
        AND (created_at, job_id) < (${createdAt}, ${jobId})
    ), others AS (
      SELECT count(*) AS jobs FROM job
      WHERE state = 'queued' AND model = ${model} AND workspace_id <> ${workspaceId} GROUP BY workspace_id
    )
    SELECT (before + coalesce((SELECT sum(least(jobs, before + 1)) FROM others), 0))::INT AS position FROM mine`);
  return row?.position ?? 0;
}

/** Jobs of a model that are queued, or in a slot of one of these replicas. */
export async function countAhead(db: Db, model: string, replicaIds: readonly string[]): Promise<number> {
  const [row] = await db.$queryRaw<{ jobs: number }[]>(Prisma.sql`
    SELECT (
      (SELECT count(*) FROM job WHERE model = ${model} AND state = 'queued')
      + (SELECT count(*) FROM job WHERE replica = ANY(${replicaIds}) AND state IN ('submitting', 'running'))
    )::INT AS jobs`);
  return row?.jobs ?? 0;
}
