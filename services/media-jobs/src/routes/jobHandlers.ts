import { callingKey } from '@turnpike/authentication/keyGuard';
import { abortOnClose } from '@turnpike/http-service/abortOnClose';
import type { RequestHandler, Response } from 'express';
import {
  toDeletedBody,
  toMediaJobBody,
  toPollHeaders,
  toVideoBody,
  toVideoListBody,
} from '../answer/jobs/jobBodies.ts';
import { preferredWaitMs, readListQuery } from '../request/readQuery.ts';
import type { ShownJob } from '../terms/job.ts';
import { findJob, type JobKind, type LookUpDependencies, lookUp, notFound, whereJobsAre } from './lookUp.ts';

/** GET of a job: returns its current state, or waits for another status if the client prefers that. */
export function getJob(
  kind: JobKind,
  dependencies: Pick<LookUpDependencies, 'jobs' | 'lookUps' | 'publicUrl'>,
): RequestHandler {
  return async (req, res) => {
    const found = await findJob(kind, dependencies, { req, res });
    const waitMs = preferredWaitMs(req);
    const job = waitMs === undefined ? found : await waitForChange(dependencies, { job: found, waitMs, res });
    if (!job) throw notFound();
    res.setHeaders(new Map(Object.entries(toPollHeaders(job))));
    res.status(200).json(kind === 'video' ? toVideoBody(job) : toMediaJobBody(job, dependencies));
  };
}

/** DELETE of a job: cancels an unfinished job, and starts the removal of its outputs. */
export function deleteJob(kind: JobKind, dependencies: Pick<LookUpDependencies, 'jobs' | 'lookUps'>): RequestHandler {
  return async (req, res) => {
    const { id } = await findJob(kind, dependencies, { req, res });
    if (!(await whereJobsAre(dependencies.jobs.remove({ jobId: id, keyId: callingKey(res).keyId })))) throw notFound();
    res.status(200).json(toDeletedBody(id, kind === 'video' ? 'video' : `${kind}.job`));
  };
}

/** GET /v1/videos: the key's own that have not expired. */
export function listVideos({ jobs, lookUps }: Pick<LookUpDependencies, 'jobs' | 'lookUps'>): RequestHandler {
  return async (req, res) => {
    const { limit, order, after } = readListQuery(req.query);
    const list = { keyId: callingKey(res).keyId, modality: 'video', order, after } as const;
    const found = await lookUp({ lookUps }, res, () => jobs.list({ ...list, limit: limit + 1 }));
    res.status(200).json(toVideoListBody(found.slice(0, limit), { hasMore: found.length > limit }));
  };
}

async function waitForChange(
  { jobs }: Pick<LookUpDependencies, 'jobs'>,
  { job, waitMs, res }: { job: ShownJob; waitMs: number; res: Response },
): Promise<ShownJob | undefined> {
  if (job.status === 'completed' || job.status === 'failed') return job;
  const leaving = abortOnClose(res);
  const signal = AbortSignal.any([leaving.signal, AbortSignal.timeout(waitMs)]);
  try {
    return await whereJobsAre(jobs.untilChanged({ jobId: job.id, keyId: callingKey(res).keyId }, job.status, signal));
  } finally {
    leaving.forget();
  }
}
