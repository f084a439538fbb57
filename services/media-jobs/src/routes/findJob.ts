import { ApiError } from '@turnpike/public-api/apiError';
import { MEDIA_OPERATIONS } from '@turnpike/public-api/operations';
import type { LookUpFault } from '../api/mediaFault.ts';
import type { ShownJob } from '../terms/job.ts';
import { type JobHouse, whereJobsAre } from './jobHouse.ts';

/** The families of paths that have jobs. */
export type JobKind = 'image' | 'audio' | 'video';

/** The job that a path names, if it is of that family and the key's own. Throws `job_not_found`, alike in every other case. */
export async function findJob(
  kind: JobKind,
  { jobs }: Pick<JobHouse, 'jobs'>,
  { id, keyId }: { id: unknown; keyId: string },
): Promise<ShownJob> {
  const job = await whereJobsAre(jobs.find({ jobId: String(id), keyId }));
  if (!job || MEDIA_OPERATIONS[job.params.operation] !== kind) throw notFound();
  return job;
}

export const notFound = (): ApiError => new ApiError<LookUpFault>({ kind: 'job_not_found' });
