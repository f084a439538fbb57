import type { ShownJob } from '../terms/job.ts';
import type { JobRow, JobState } from './table/jobRow.ts';

/** The status that clients see of each state. */
export const STATUSES: Record<Exclude<JobState, 'cancelled'>, ShownJob['status']> = {
  queued: 'queued',
  submitting: 'queued',
  running: 'in_progress',
  storing: 'in_progress',
  completed: 'completed',
  failed: 'failed',
};

/** Returns a job as its client sees it. */
export function toShownJob(
  row: JobRow,
  { queuePosition, prompt }: { queuePosition: number | null; prompt: string | null },
): ShownJob {
  const { state, units, chargeNanoUsd } = row;
  if (state === 'cancelled') throw new Error('a job that was cancelled is not shown');
  return {
    id: row.jobId,
    status: STATUSES[state],
    progress: row.progress,
    queuePosition: state === 'submitting' ? 0 : queuePosition,
    params: row.params,
    prompt,
    createdAt: row.createdAt,
    completedAt: state === 'completed' ? row.endedAt : null,
    expiresAt: row.expiresAt,
    errorCode: row.errorCode,
    outputs: row.outputs,
    usage: units === null || chargeNanoUsd === null ? null : { billingUnit: row.billingUnit, units, chargeNanoUsd },
  };
}
