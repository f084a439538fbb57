import { z } from 'zod';
import { defineApi } from './internalApi.ts';
import { liveModelsSchema } from './modelRouter.ts';

const instant = z.iso.datetime();

/** Media jobs: what their operator looks after, and the backends. */
export const mediaJobsApi = defineApi('media-jobs', {
  getLiveModels: {
    callers: ['catalog', 'operator'],
    method: 'GET',
    path: '/internal/models/live',
    promise: 'for each model that the backends file lists, how many backends the region has and how many take work',
    answer: z.object({ models: liveModelsSchema }),
  },
  listOverdueJobs: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/jobs/overdue',
    promise:
      'jobs of which something should have been done long ago: `end` past their deadline, `settlement` 5 min and `backend` 10 min after their end, `removal` 36 h after the end of a clip; none where all works, 1000 at most',
    answer: z.object({
      jobs: z.array(
        z.object({
          id: z.string(),
          modality: z.enum(['image', 'audio', 'video']),
          ended_at: instant.nullable(),
          lacks: z.enum(['end', 'settlement', 'backend', 'removal']),
        }),
      ),
    }),
  },
});
