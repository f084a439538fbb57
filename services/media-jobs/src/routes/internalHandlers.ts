import type { mediaJobsApi } from '@turnpike/internal-api/mediaJobs';
import type { LiveModels } from '@turnpike/internal-api/modelRouter';
import type { Handlers } from '@turnpike/internal-api/transport/serveApi';
import type { JobHouse } from './jobHouse.ts';

/** What the fleet asks: the catalog and the operator, which models there are backends for; the operator, which jobs are overdue. */
export const createInternalHandlers = ({
  jobs,
  backends,
}: Pick<JobHouse, 'jobs' | 'backends'>): Handlers<typeof mediaJobsApi> => ({
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
