import { nanoUsdSchema } from '@turnpike/money/nanoUsd';
import { z } from 'zod';
import { text } from './fields.ts';
import { defineApi } from './internalApi.ts';
import { liveModelsSchema } from './modelRouter.ts';

const instant = z.iso.datetime();
const count = z.number().int();

/** Media jobs: what their operator looks after, and the backends. */
export const mediaJobsApi = defineApi('media-jobs', {
  getLiveModels: {
    callers: ['catalog', 'operator'],
    method: 'GET',
    path: '/internal/models/live',
    promise: 'for each model that the backends file lists, how many backends the region has and how many take work',
    answer: z.object({ models: liveModelsSchema }),
  },
  listBackends: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/backends',
    promise: 'all that the backends file lists, as this process sees them; one that drains is given nothing new',
    answer: z.object({
      backends: z.array(
        z.object({
          id: z.string(),
          url: z.string(),
          engine: z.string(),
          model: z.string(),
          slots: count,
          state: z.enum(['starting', 'ready', 'out']),
          is_draining: z.boolean(),
        }),
      ),
    }),
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
  getJob: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/jobs/:id',
    promise:
      'one job of any workspace, by its id, that of its call or the `x-request-id` that made it, without what was asked for',
    params: z.object({ id: text.max(128) }),
    answer: z.object({
      id: z.string(),
      call_id: z.string(),
      workspace_id: z.string(),
      key_id: z.string(),
      operation: z.string(),
      model: z.string(),
      /** `queued`, `submitting`, `running`, `storing`, `completed`, `failed` or `cancelled`. */
      state: z.string(),
      attempts: count,
      /** The backend that works on it, or did last. */
      backend: z.string().nullable(),
      error_code: z.string().nullable(),
      hold_nano_usd: nanoUsdSchema,
      /** Null until the job has ended. */
      charge_nano_usd: nanoUsdSchema.nullable(),
      created_at: instant,
      begun_at: instant.nullable(),
      ended_at: instant.nullable(),
      deadline_at: instant,
      /** When its event was written: from then on the ledger has its call. */
      settled_at: instant.nullable(),
    }),
    faults: {
      job_not_found: { status: 404, message: 'There is no job of this id, nor of a call or a request of this id.' },
    },
  },
});
