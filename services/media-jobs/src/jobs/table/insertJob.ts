import type { Db } from '../../database/createDb.ts';
import { Prisma } from '../../generated/client.ts';
import { interval, JOB_COLUMNS, type JobRow } from './jobRow.ts';

/** What is known of a job when it is made. */
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
  sealedTexts: Uint8Array;
  /** SHA-256 of the parsed fields and files. */
  digest: Buffer;
  /** How long it may wait for its turn. */
  queueMs: number;
}

/** Puts a job into the queue: from here on it exists. */
export async function insertJob(db: Db, job: NewJob): Promise<JobRow> {
  const rows = await db.$queryRaw<JobRow[]>(Prisma.sql`
    INSERT INTO job (
      job_id, workspace_id, key_id, operation, modality, model, is_hidden, params, sealed_texts, digest, inputs, deadline_at,
      owner, call_id, hold, hold_nano_usd, price_version, billing_unit, unit_price, units_bound
    ) VALUES (
      ${job.jobId}, ${job.workspaceId}, ${job.keyId}, ${job.operation}, ${job.modality}, ${job.model}, ${job.isHidden},
      ${JSON.stringify(job.params)}::JSONB, ${Buffer.from(job.sealedTexts)}, ${job.digest},
      ${JSON.stringify(job.inputs)}::JSONB, now() + ${interval(job.queueMs)},
      ${job.owner}, ${job.callId}::UUID, ${JSON.stringify(job.hold)}::JSONB, ${job.holdNanoUsd}, ${job.priceVersion},
      ${job.billingUnit}, ${job.unitPrice}, ${job.unitsBound}
    )
    RETURNING ${JOB_COLUMNS}`);
  const [row] = rows;
  if (!row) throw new Error('a row that was inserted did not come back');
  return row;
}
