import { BILLING_UNITS, MODALITIES } from '@turnpike/public-api/modality';
import * as z from 'zod/mini';
import { nanoUsd } from '../amounts.ts';
import { count, defineRoutes, instant } from './consoleRoute.ts';

export const JOB_STATUSES = ['queued', 'in_progress', 'completed', 'failed', 'cancelled'] as const;
export type ConsoleJobStatus = (typeof JOB_STATUSES)[number];
/** Jobs of a page. */
export const JOBS_PER_PAGE = 50;
const jobFields = {
  job_id: z.string(),
  call_id: z.string(),
  key_id: z.string(),
  operation: z.string(),
  modality: z.enum(MODALITIES),
  /** Canonical id. */
  model: z.string(),
  status: z.enum(JOB_STATUSES),
  /** Per cent. */
  progress: count,
  /** Short code: why the job failed. */
  error_code: z.nullable(z.string()),
  created_at: instant,
  begun_at: z.nullable(instant),
  ended_at: z.nullable(instant),
  /** From then on clients get 404 for the job. */
  expires_at: z.nullable(instant),
  billing_unit: z.enum(BILLING_UNITS),
  /** Measured images, characters or whole seconds. Null until the job has ended. */
  units: z.nullable(count),
  /** Null until the job has ended. */
  charge_nano_usd: z.nullable(nanoUsd),
};
const jobId = z.string().check(z.regex(/^\w{1,64}$/, 'must be the id of a job'));

/** Media jobs, without prompts, uploads and outputs. Calls that wait for their answer are no jobs. */
export const jobsConsoleApi = defineRoutes('media-jobs', {
  listJobs: {
    right: 'usage.read',
    method: 'GET',
    path: '/console/jobs',
    promise: `Lists the jobs of the workspace, the newest first, at most ${JOBS_PER_PAGE} a page. With a filter a page may have fewer jobs although \`next_after\` names a next page.`,
    params: z.object({
      after: z.optional(jobId),
      status: z.optional(z.enum(JOB_STATUSES, `must be one of ${JOB_STATUSES.join(', ')}`)),
      key_id: z.optional(z.string().check(z.regex(/^[\w-]{1,128}$/, 'must be the id of a key'))),
    }),
    answer: z.object({ jobs: z.array(z.object(jobFields)), next_after: z.nullable(z.string()) }),
  },
  getJob: {
    right: 'usage.read',
    method: 'GET',
    path: '/console/jobs/:job_id',
    promise: 'Shows one job. Its call in the usage has the arithmetic of its cost.',
    params: z.object({ job_id: jobId }),
    answer: z.object({
      ...jobFields,
      /** Times that an engine has begun the job. */
      attempts: count,
      /** USD for one billing unit, as a decimal text. */
      unit_price_usd: z.string(),
      price_version: count,
      hold_nano_usd: nanoUsd,
      outputs: z.array(
        z.object({
          /** Media type. */
          type: z.string(),
          bytes: count,
          width: z.nullable(count),
          height: z.nullable(count),
          seconds: z.nullable(count),
        }),
      ),
      /** Instant at which prompt and outputs were removed. */
      removed_at: z.nullable(instant),
    }),
    faults: {
      unknown_job: {
        status: 404,
        message: 'There is no such job in this workspace. Take its id from the list of jobs.',
      },
    },
  },
});
