import type { mediaJobsApi } from '@turnpike/internal-api/mediaJobs';
import type { LiveModels } from '@turnpike/internal-api/modelRouter';
import type { Handlers } from '@turnpike/internal-api/transport/serveApi';
import type { Queryable } from '@turnpike/postgres/database';
import { ApiError } from '@turnpike/public-api/apiError';
import { findAnyJob } from '../jobs/table/findJobs.ts';
import type { LookUpDependencies } from './lookUp.ts';

/** Returns the models with backends, for the catalog and the operator, and for the operator the backends, the overdue jobs and any job. */
export const createInternalHandlers = ({
  jobs,
  backends,
  lookUpDb,
}: Pick<LookUpDependencies, 'jobs' | 'backends'> & { lookUpDb: Queryable }): Handlers<typeof mediaJobsApi> => ({
  getLiveModels() {
    const models: LiveModels = {};
    for (const { replica, state } of backends.list()) {
      const { engines, healthy } = models[replica.model] ?? { engines: 0, healthy: 0 };
      const takesWork = state === 'ready' && !replica.draining;
      models[replica.model] = { engines: engines + 1, healthy: healthy + (takesWork ? 1 : 0) };
    }
    return { models };
  },
  listBackends: () => ({
    backends: backends.list().map(({ replica: { id, url, engine, model, slots, draining }, state }) => ({
      ...{ id, url, engine, model, slots, state },
      is_draining: draining,
    })),
  }),
  async getJob({ params: { id } }) {
    const job = await findAnyJob(lookUpDb, id);
    if (!job) throw new ApiError({ kind: 'job_not_found' });
    return {
      id: job.jobId,
      call_id: job.callId,
      workspace_id: job.workspaceId,
      key_id: job.keyId,
      operation: job.operation,
      model: job.model,
      state: job.state,
      attempts: job.attempt,
      backend: job.replica,
      error_code: job.errorCode,
      hold_nano_usd: String(job.holdNanoUsd),
      charge_nano_usd: job.chargeNanoUsd?.toString() ?? null,
      created_at: job.createdAt.toISOString(),
      begun_at: job.begunAt?.toISOString() ?? null,
      ended_at: job.endedAt?.toISOString() ?? null,
      deadline_at: job.deadlineAt.toISOString(),
      settled_at: job.settledAt?.toISOString() ?? null,
    };
  },
  async listOverdueJobs() {
    const overdue = await jobs.listOverdue();
    return {
      jobs: overdue.map(({ jobId: id, modality, endedAt, lacks }) => ({
        id,
        modality,
        ended_at: endedAt?.toISOString() ?? null,
        lacks,
      })),
    };
  },
});
