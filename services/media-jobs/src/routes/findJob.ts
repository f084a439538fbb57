import { callingKey } from '@turnpike/authentication/keyGuard';
import { ApiError } from '@turnpike/public-api/apiError';
import { MEDIA_OPERATIONS } from '@turnpike/public-api/operations';
import type { LookUpFault } from '../api/mediaFault.ts';
import type { ShownJob } from '../terms/job.ts';
import { type JobHouse, lookUp } from './jobHouse.ts';
import type { Exchange } from './mediaHouse.ts';

/** The families of paths that have jobs. */
export type JobKind = 'image' | 'audio' | 'video';

/** The job that a path names, if it is of that family and the key's own. Throws `job_not_found`, alike in every other case. */
export async function findJob(
  kind: JobKind,
  { jobs, lookUps }: Pick<JobHouse, 'jobs' | 'lookUps'>,
  { req, res }: Exchange,
): Promise<ShownJob> {
  const address = { jobId: String(req.params.id), keyId: callingKey(res).keyId };
  const job = await lookUp({ lookUps }, res, () => jobs.find(address));
  if (!job || MEDIA_OPERATIONS[job.params.operation] !== kind) throw notFound();
  return job;
}

export const notFound = (): ApiError => new ApiError<LookUpFault>({ kind: 'job_not_found' });
