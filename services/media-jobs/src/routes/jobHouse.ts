import { callingKey } from '@turnpike/authentication/keyGuard';
import { abortOnClose } from '@turnpike/http-service/abortOnClose';
import { ApiError } from '@turnpike/public-api/apiError';
import type { FairSlots } from '@turnpike/request-reading/shares/fairSlots';
import type { Response } from 'express';
import type { ReadOutput } from '../answer/images/imageAnswer.ts';
import type { BackendFault, LookUpFault } from '../api/mediaFault.ts';
import type { Jobs } from '../jobs/openJobs.ts';
import type { ShownJob } from '../terms/job.ts';
import type { MediaHouse } from './mediaHouse.ts';

/** What routes of jobs are answered with. */
export interface JobHouse extends Omit<MediaHouse, 'jobs'> {
  jobs: Jobs;
  /** Look-ups of jobs at once. */
  lookUps: FairSlots;
}

/** Longest that a look-up waits for its turn. */
const LONGEST_WAIT_MS = 5_000;

/** Looks jobs up when the key has its turn. Does not begin where the client has left before. */
export async function lookUp<Result>(
  { lookUps }: Pick<JobHouse, 'lookUps'>,
  res: Response,
  look: () => Promise<Result>,
): Promise<Result> {
  const { keyId, workspace } = callingKey(res);
  const leaving = abortOnClose(res);
  const signal = AbortSignal.any([leaving.signal, AbortSignal.timeout(LONGEST_WAIT_MS)]);
  const slot = await whereJobsAre(lookUps.take({ workspaceId: workspace.workspaceId, keyId }, signal)).finally(
    leaving.forget,
  );
  try {
    return await whereJobsAre(look());
  } finally {
    slot.giveBack();
  }
}

/** Where a job is looked up: a database that does not answer is nothing of the client's to hear of. */
export async function whereJobsAre<Result>(look: Promise<Result>): Promise<Result> {
  try {
    return await look;
  } catch (error) {
    throw error instanceof ApiError ? error : new ApiError<LookUpFault>({ kind: 'jobs_unavailable' }, { cause: error });
  }
}

/** Where an output is read: the store is none either. */
export async function whereOutputsAre<Result>(read: Promise<Result>): Promise<Result> {
  try {
    return await read;
  } catch (error) {
    throw new ApiError<BackendFault>({ kind: 'storage_unavailable' }, { cause: error });
  }
}

/** Reads the outputs of a job, one after the other. The first is open already: a store that is down is told by a status. */
export async function readOutputs({ jobs }: Pick<JobHouse, 'jobs'>, job: ShownJob): Promise<ReadOutput> {
  const [first] = job.outputs;
  if (!first) throw new Error('a job is completed without an output');
  const opened = await whereOutputsAre(jobs.content(first));
  return async function* (index) {
    const output = job.outputs[index];
    if (!output) throw new Error('a job has no such output');
    const { content } = index === 0 ? opened : await jobs.content(output);
    yield* content;
  };
}
