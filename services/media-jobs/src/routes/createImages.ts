import { callingKey } from '@turnpike/authentication/keyGuard';
import { abortOnClose } from '@turnpike/http-service/abortOnClose';
import { ApiError } from '@turnpike/public-api/apiError';
import type { RequestHandler } from 'express';
import { sendImages } from '../answer/images/sendImages.ts';
import type { BackendFault, JobFault } from '../api/mediaFault.ts';
import type { Queue } from '../jobs/table/findJobs.ts';
import { underDraft } from '../request/mediaDraft.ts';
import { type Exchange, resolve } from './gates.ts';
import { type LookUpDependencies, readOutputs, whereJobsAre } from './lookUp.ts';
import { obtainJob, sendJob } from './obtainJob.ts';

/**
 * Longest wait of a client for its images, because proxies and clients give up soon after. The job's deadline is a
 * little sooner.
 */
const LONGEST_WAIT_MS = 100_000;
/** Longest expected duration of a call that is begun. It is below the longest wait, because it is an estimate. */
const LONGEST_EXPECTED_MS = 80_000;
const RETRY_AFTER_SECONDS = 10;

/**
 * POST /v1/images/generations: returns the images once they are made, or a job. A call that waits is a job internally.
 * So a client whose connection broke gets its images by a retry, and the job continues after the client has left.
 */
export function createImages(dependencies: LookUpDependencies): RequestHandler {
  return async (req, res) => {
    const { keyId, workspace } = callingKey(res);
    const draft = await dependencies.requests.readImageRequest({ req, res }, keyId);
    await underDraft(draft, async () => {
      const asked = resolve(draft, dependencies, res);
      const { isAsync, responseFormat, model } = asked.request;
      const queue = { model, keyId, workspaceId: workspace.workspaceId };
      const job = await obtainJob(
        dependencies,
        { req, res },
        {
          ...asked,
          digest: draft.digest,
          isHidden: !isAsync && responseFormat === 'b64_json',
          ...(!isAsync && { assertInTime: () => assertInTime(dependencies, queue) }),
        },
      );
      if (isAsync) sendJob(dependencies, { req, res }, job);
      else await answer(dependencies, { res }, { jobId: job.id, keyId });
    });
  };
}

/** Throws `backend_unavailable` if the expected wait is longer than clients wait. */
async function assertInTime({ jobs }: Pick<LookUpDependencies, 'jobs'>, queue: Queue): Promise<void> {
  const waitMs = await whereJobsAre(jobs.expectWaitMs(queue));
  if (waitMs === undefined || waitMs <= LONGEST_EXPECTED_MS) return;
  throw new ApiError<BackendFault>({ kind: 'backend_unavailable', retryAfterSeconds: RETRY_AFTER_SECONDS });
}

async function answer(
  dependencies: LookUpDependencies,
  { res }: Pick<Exchange, 'res'>,
  address: { jobId: string; keyId: string },
): Promise<void> {
  const leaving = abortOnClose(res);
  const signal = AbortSignal.any([leaving.signal, AbortSignal.timeout(LONGEST_WAIT_MS)]);
  const job = await whereJobsAre(dependencies.jobs.untilEnded(address, signal)).finally(leaving.forget);
  if (leaving.signal.aborted) return;
  if (job?.status !== 'completed' || job.usage === null || job.params.operation !== 'images.generations')
    throw new ApiError<JobFault>({ kind: 'job_failed', code: job?.errorCode ?? 'timed_out' });
  const { params, usage } = job;
  await sendImages(
    res,
    { ...job, params, usage },
    {
      publicUrl: dependencies.publicUrl,
      open: () => readOutputs(dependencies, res, job),
    },
  );
}
