import type { Queryable } from '@turnpike/postgres/database';
import { type Sql, sql } from '@turnpike/postgres/sql';
import { OPEN } from '../transitions.ts';
import { isIn, JOB_COLUMNS, type JobRow, type JobState } from './jobRow.ts';

/** A job by its id, for the key that made it. */
export interface JobAddress {
  jobId: string;
  keyId: string;
}

/**
 * Tests whether the client sees a job: until its expiry, unless the client cancelled it. The removal of the bytes does
 * not matter.
 */
const IS_SHOWN = sql`state <> 'cancelled' AND (expires_at IS NULL OR expires_at > now())`;

/** A row with the most jobs that have their turn before it; null if it does not wait for a turn. */
export interface SeenJob extends JobRow {
  queuePosition: number | null;
}

/**
 * Reads jobs with their places in the queue, in one statement for all of them. Ahead of a job are the earlier jobs of
 * its key, and as many of each other key of its workspace. Of each other workspace, as many as all these together are
 * ahead.
 */
const readSeen = (db: Queryable, where: Sql, order: Sql, limit: number): Promise<SeenJob[]> =>
  db.query(sql<SeenJob>`
    WITH page AS (
      SELECT ${JOB_COLUMNS} FROM job WHERE ${where} AND ${IS_SHOWN}
      ORDER BY created_at ${order}, job_id ${order} LIMIT ${limit}
    ), line AS (
      SELECT model, workspace_id, key_id, count(*) AS jobs FROM job
      WHERE state = 'queued' AND model IN (SELECT model FROM page WHERE state = 'queued') GROUP BY model, workspace_id, key_id
    ), mine AS (
      SELECT job_id, row_number() OVER (PARTITION BY model, workspace_id, key_id ORDER BY created_at, job_id) - 1 AS before
      FROM job WHERE state = 'queued'
        AND (model, workspace_id, key_id) IN (SELECT model, "workspaceId", "keyId" FROM page WHERE state = 'queued')
    ), placed AS (
      SELECT page.*, before + coalesce((
        SELECT sum(least(jobs, before + 1)) FROM line
        WHERE line.model = page.model AND workspace_id = page."workspaceId" AND key_id <> page."keyId"
      ), 0) AS own
      FROM page LEFT JOIN mine ON mine.job_id = page."jobId"
    )
    SELECT placed.*, (own + coalesce((
      SELECT sum(least(jobs, own + 1)) FROM (
        SELECT sum(jobs) AS jobs FROM line
        WHERE line.model = placed.model AND workspace_id <> placed."workspaceId" GROUP BY workspace_id
      ) AS other
    ), 0))::INT AS "queuePosition"
    FROM placed ORDER BY placed."createdAt" ${order}, placed."jobId" ${order}`);

export async function findJob(db: Queryable, { jobId, keyId }: JobAddress): Promise<SeenJob | undefined> {
  const [job] = await readSeen(db, sql`job_id = ${jobId} AND key_id = ${keyId}`, sql`ASC`, 1);
  return job;
}

export interface JobList {
  keyId: string;
  modality: JobRow['modality'];
  order: 'asc' | 'desc';
  limit: number;
  /** Last id of the page before. Its job may have expired since. */
  after: string | undefined;
}

/** Returns a page of a key's jobs in the order of their creation. The page is empty if the key has no job `after`. */
export function listJobs(db: Queryable, { keyId, modality, order, limit, after }: JobList): Promise<SeenJob[]> {
  const isDescending = order === 'desc';
  const comparison = isDescending ? sql`<` : sql`>`;
  const direction = isDescending ? sql`DESC` : sql`ASC`;
  const from =
    after === undefined
      ? sql`true`
      : sql`(created_at, job_id) ${comparison} (
          SELECT last.created_at, last.job_id FROM job AS last WHERE last.job_id = ${after} AND last.key_id = ${keyId})`;
  const where = sql`key_id = ${keyId} AND modality = ${modality} AND NOT is_hidden AND removed_at IS NULL AND ${from}`;
  return readSeen(db, where, direction, limit);
}

/** Most jobs that one page of a filtered list reads. */
const LOOKED_AT = 1_000;

export interface WorkspaceJobList {
  workspaceId: string;
  keyId: string | undefined;
  states: readonly JobState[] | undefined;
  /** Last id of the page before. */
  after: string | undefined;
  limit: number;
}

/**
 * Returns a page of a workspace's jobs, the newest first, and the id after which the next page begins. Hidden jobs, of
 * calls that waited for their answer, are excluded. A page of a filtered list reads a bounded number of jobs, so that a
 * rare status causes no long scan.
 */
export async function listJobsOfWorkspace(
  db: Queryable,
  { workspaceId, keyId, states, after, limit }: WorkspaceJobList,
): Promise<{ jobs: JobRow[]; nextAfter: string | undefined }> {
  const isFiltered = keyId !== undefined || states !== undefined;
  const most = isFiltered ? LOOKED_AT : limit;
  const from =
    after === undefined
      ? sql`true`
      : sql`(created_at, job_id) < (
          SELECT last.created_at, last.job_id FROM job AS last WHERE last.job_id = ${after} AND last.workspace_id = ${workspaceId})`;
  const seen = await db.query(sql<{ jobId: string; isWanted: boolean }>`
    SELECT job_id AS "jobId", (${keyId ?? null}::TEXT IS NULL OR key_id = ${keyId ?? null})
      AND (${states ?? null}::TEXT[] IS NULL OR state = ANY(${states ?? null}::TEXT[])) AS "isWanted"
    FROM job WHERE workspace_id = ${workspaceId} AND NOT is_hidden AND ${from}
    ORDER BY created_at DESC, job_id DESC LIMIT ${most}`);
  const page = seen.filter(({ isWanted }) => isWanted).slice(0, limit);
  const last = page.length === limit ? page.at(-1) : seen.length === most ? seen.at(-1) : undefined;
  const jobs = await db.query(sql<JobRow>`
    SELECT ${JOB_COLUMNS} FROM job WHERE job_id = ANY(${page.map(({ jobId }) => jobId)})
    ORDER BY created_at DESC, job_id DESC`);
  return { jobs, nextAfter: last?.jobId };
}

/** Returns a job of a workspace in any state. */
export async function findJobOfWorkspace(
  db: Queryable,
  { jobId, workspaceId }: { jobId: string; workspaceId: string },
): Promise<JobRow | undefined> {
  const [job] = await db.query(sql<JobRow>`
    SELECT ${JOB_COLUMNS} FROM job WHERE job_id = ${jobId} AND workspace_id = ${workspaceId} AND NOT is_hidden`);
  return job;
}

/**
 * Returns the job of any workspace by its id or its call's id, for the operator. Until the job is settled, the
 * `x-request-id` of the answer that made it is found too, in the event of its hold.
 */
export async function findAnyJob(db: Queryable, id: string): Promise<JobRow | undefined> {
  const [job] = await db.query(sql<JobRow>`SELECT ${JOB_COLUMNS} FROM job WHERE job_id = ${id}`);
  if (job || !UUID.test(id)) return job;
  const [ofCall] = await db.query(sql<JobRow>`SELECT ${JOB_COLUMNS} FROM job WHERE call_id = ${id}::UUID`);
  if (ofCall) return ofCall;
  const [ofRequest] = await db.query(sql<JobRow>`
    SELECT ${JOB_COLUMNS} FROM job
    WHERE settled_at IS NULL AND (hold ->> 'unknownEventJson')::JSONB ->> 'requestId' = ${id.toLowerCase()}`);
  return ofRequest;
}
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Queue that a job joins. */
export type Queue = Pick<JobRow, 'model' | 'workspaceId' | 'keyId'>;

/**
 * Counts the jobs ahead of a new one: those with an earlier turn in the order of workspaces and keys. Jobs in a slot of
 * these replicas count too.
 */
export async function countAhead(
  db: Queryable,
  { model, workspaceId, keyId }: Queue,
  replicaIds: readonly string[],
): Promise<number> {
  const [row] = await db.query(sql<{ jobs: number }>`
    WITH line AS (
      SELECT workspace_id, key_id, count(*) AS jobs FROM job
      WHERE state = 'queued' AND model = ${model} GROUP BY workspace_id, key_id
    ), of_key AS (
      SELECT coalesce(sum(jobs), 0) AS before FROM line WHERE workspace_id = ${workspaceId} AND key_id = ${keyId}
    ), mine AS (
      SELECT before + coalesce((
        SELECT sum(least(jobs, before + 1)) FROM line WHERE workspace_id = ${workspaceId} AND key_id <> ${keyId}
      ), 0) AS before FROM of_key
    ), other AS (
      SELECT sum(jobs) AS jobs FROM line WHERE workspace_id <> ${workspaceId} GROUP BY workspace_id
    )
    SELECT (
      before
      + coalesce((SELECT sum(least(jobs, before + 1)) FROM other), 0)
      + (SELECT count(*) FROM job WHERE replica = ANY(${replicaIds}) AND state IN ('submitting', 'running'))
    )::INT AS jobs FROM mine`);
  return row?.jobs ?? 0;
}

/** Counts the queued jobs of a model that the key has, up to `most`. */
export async function countQueued(db: Queryable, { model, workspaceId, keyId }: Queue, most: number): Promise<number> {
  const [row] = await db.query(sql<{ jobs: number }>`
    SELECT count(*)::INT AS jobs FROM (
      SELECT FROM job WHERE state = 'queued' AND model = ${model} AND workspace_id = ${workspaceId} AND key_id = ${keyId}
      LIMIT ${most}
    ) AS queued`);
  return row?.jobs ?? 0;
}

/** Returns open jobs past their deadline. Claims none, because the first process to end a job wins. */
export const listLate = (db: Queryable, limit: number): Promise<JobRow[]> =>
  db.query(sql<JobRow>`
    SELECT ${JOB_COLUMNS} FROM job WHERE deadline_at <= now() AND ${isIn(OPEN)} ORDER BY deadline_at LIMIT ${limit}`);

/** Returns queued jobs of disabled models. */
export const listQueuedOf = (db: Queryable, models: readonly string[], limit: number): Promise<JobRow[]> =>
  db.query(sql<JobRow>`
    SELECT ${JOB_COLUMNS} FROM job WHERE state = 'queued' AND model = ANY(${models}) LIMIT ${limit}`);
