import type { Queryable } from '@turnpike/postgres/database';
import { sql } from '@turnpike/postgres/sql';
import { IN_DOUBT_MS } from '../times.ts';
import type { Claim } from './creations.ts';
import { interval, JOB_COLUMNS, type JobRow } from './jobRow.ts';

/** Columns of a job that are known when it is made. */
export interface NewJob
  extends Pick<
    JobRow,
    | 'jobId'
    | 'workspaceId'
    | 'keyId'
    | 'operation'
    | 'modality'
    | 'model'
    | 'isHidden'
    | 'params'
    | 'inputs'
    | 'owner'
    | 'callId'
    | 'hold'
    | 'holdNanoUsd'
    | 'priceVersion'
    | 'billingUnit'
    | 'unitPrice'
    | 'unitsBound'
  > {
  /** Null for a call that has ended. */
  sealedTexts: Uint8Array | null;
  /** SHA-256 of the parsed fields and files. */
  digest: Buffer;
  /** Longest wait for its turn. */
  queueMs: number;
}

/** Puts a job into the queue. No process begins the job while it is in doubt (`letBegin`). Throws if the claim is void. */
export async function insertJob(db: Queryable, job: NewJob, { creationId, version }: Claim): Promise<JobRow> {
  const rows = await db.query(sql<JobRow>`
    WITH claimed AS (
      UPDATE creation SET job_id = ${job.jobId}
      WHERE creation_id = ${creationId}::UUID AND version = ${version} AND lives_until > now() RETURNING creation_id
    )
    INSERT INTO job (
      job_id, workspace_id, key_id, operation, modality, model, is_hidden, params, sealed_texts, digest, inputs, due_at, deadline_at,
      owner, call_id, hold, hold_nano_usd, price_version, billing_unit, unit_price, units_bound
    ) SELECT
      ${job.jobId}, ${job.workspaceId}, ${job.keyId}, ${job.operation}, ${job.modality}, ${job.model}, ${job.isHidden}::BOOLEAN,
      ${JSON.stringify(job.params)}::JSONB, ${job.sealedTexts && Buffer.from(job.sealedTexts)}::BYTEA, ${job.digest}::BYTEA,
      ${JSON.stringify(job.inputs)}::JSONB, now() + ${interval(IN_DOUBT_MS)}, now() + ${interval(job.queueMs)},
      ${job.owner}, ${job.callId}::UUID, ${JSON.stringify(job.hold)}::JSONB, ${job.holdNanoUsd}::BIGINT,
      ${job.priceVersion}::INT,
      ${job.billingUnit}, ${job.unitPrice}, ${job.unitsBound}::INT
    FROM claimed
    RETURNING ${JOB_COLUMNS}`);
  const [row] = rows;
  if (!row) throw new Error('a call took so long that its claim is void');
  return row;
}

/** Lets a job begin, because its creator has seen the row. Without this the job begins once it is not in doubt any more. */
export const letBegin = (db: Queryable, jobId: string): Promise<number> =>
  db.execute(sql`UPDATE job SET due_at = now() WHERE job_id = ${jobId} AND state = 'queued' AND attempt = 0`);
