import type { mediaJobsApi } from '@turnpike/internal-api/mediaJobs';
import type { LiveModels } from '@turnpike/internal-api/modelRouter';
import type { Handlers } from '@turnpike/internal-api/transport/serveApi';
import type { LookUpDependencies } from './lookUp.ts';

/** Returns the models with backends, for the catalog and the operator, and the overdue jobs, for the operator. */
export const createInternalHandlers = ({
  jobs,
  backends,
}: Pick<LookUpDependencies, 'jobs' | 'backends'>): Handlers<typeof mediaJobsApi> => ({
  getLiveModels() {
    const models: LiveModels = {};
    for (const { replica, state } of backends.list()) {
      const { engines, healthy } = models[replica.model] ?? { engines: 0, healthy: 0 };
      const takesWork = state === 'ready' && !replica.draining;
      models[replica.model] = { engines: engines + 1, healthy: healthy + (takesWork ? 1 : 0) };
    }
    return { models };
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
