import { type ConsoleJobStatus, JOBS_PER_PAGE, type jobsConsoleApi } from '@turnpike/console-api/console/jobs';
import type { ConsoleHandlers } from '@turnpike/console-api/transport/serveConsoleApi';
import type { Queryable } from '@turnpike/postgres/database';
import { ApiError } from '@turnpike/public-api/apiError';
import type { FairSlots } from '@turnpike/request-reading/shares/fairSlots';
import { findJobOfWorkspace, listJobsOfWorkspace } from '../jobs/table/findJobs.ts';
import type { JobRow, JobState } from '../jobs/table/jobRow.ts';
import { STATUSES } from '../jobs/toShownJob.ts';
import { lookUp } from './lookUp.ts';

/** Members of a workspace wait for their turn as one of its keys does. */
const CONSOLE = 'console';

const STATUS_OF: Record<JobState, ConsoleJobStatus> = { ...STATUSES, cancelled: 'cancelled' };
const statesOf = (status: ConsoleJobStatus): JobState[] =>
  (Object.keys(STATUS_OF) as JobState[]).filter((state) => STATUS_OF[state] === status);

/** Makes the handlers of the console's jobs. Each reads jobs of the caller's workspace alone, and nothing of their content. */
export function createConsoleHandlers({
  lookUps,
  lookUpDb,
}: {
  lookUps: FairSlots;
  lookUpDb: Queryable;
}): ConsoleHandlers<typeof jobsConsoleApi> {
  return {
    async listJobs({ params: { after, status, key_id: keyId }, caller: { workspaceId } }, res) {
      const list = { workspaceId, keyId, states: status && statesOf(status), after, limit: JOBS_PER_PAGE };
      const owner = { workspaceId, keyId: CONSOLE };
      const { jobs, nextAfter } = await lookUp({ lookUps }, res, () => listJobsOfWorkspace(lookUpDb, list), owner);
      return { jobs: jobs.map(toJobBody), next_after: nextAfter ?? null };
    },
    async getJob({ params: { job_id: jobId }, caller: { workspaceId } }, res) {
      const owner = { workspaceId, keyId: CONSOLE };
      const find = () => findJobOfWorkspace(lookUpDb, { jobId, workspaceId });
      const job = await lookUp({ lookUps }, res, find, owner);
      if (!job) throw new ApiError({ kind: 'unknown_job' });
      return {
        ...toJobBody(job),
        attempts: job.attempt,
        unit_price_usd: job.unitPrice,
        price_version: job.priceVersion,
        hold_nano_usd: String(job.holdNanoUsd),
        outputs: job.outputs.map(({ type, bytes, width = null, height = null, seconds = null }) => {
          return { type, bytes, width, height, seconds };
        }),
        removed_at: job.removedAt?.toISOString() ?? null,
      };
    },
  };
}

const toJobBody = (job: JobRow) => ({
  job_id: job.jobId,
  call_id: job.callId,
  key_id: job.keyId,
  operation: job.operation,
  modality: job.modality,
  model: job.model,
  status: STATUS_OF[job.state],
  progress: job.progress,
  error_code: job.errorCode,
  created_at: job.createdAt.toISOString(),
  begun_at: job.begunAt?.toISOString() ?? null,
  ended_at: job.endedAt?.toISOString() ?? null,
  expires_at: job.expiresAt?.toISOString() ?? null,
  billing_unit: job.billingUnit,
  units: job.units,
  charge_nano_usd: job.chargeNanoUsd?.toString() ?? null,
});
