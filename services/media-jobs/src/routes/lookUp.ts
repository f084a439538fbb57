import type { Readable } from 'node:stream';
import { callingKey } from '@turnpike/authentication/keyGuard';
import { abortOnClose } from '@turnpike/http-service/abortOnClose';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import type { ByteRange } from '@turnpike/object-store/objectStore';
import { ApiError } from '@turnpike/public-api/apiError';
import { MEDIA_OPERATIONS } from '@turnpike/public-api/operations';
import type { FairSlots, SlotOwner } from '@turnpike/request-reading/shares/fairSlots';
import type { Response } from 'express';
import type { ReadOutput } from '../answer/images/imageAnswer.ts';
import type { BackendFault, LookUpFault } from '../api/mediaFault.ts';
import type { Jobs } from '../jobs/openJobs.ts';
import type { ShownJob, StoredOutput } from '../terms/job.ts';
import type { CallDependencies, Exchange } from './gates.ts';

/** Parts of the process that routes of jobs use. */
export interface LookUpDependencies extends Omit<CallDependencies, 'jobs'> {
  jobs: Jobs;
  /** Slots of concurrent read requests of jobs. */
  lookUps: FairSlots;
}

/** Longest wait of a read request for its turn. */
const LONGEST_WAIT_MS = 5_000;

/** Reads jobs in the turn of the key, or of the given owner. Does not begin if the client has left before. */
export async function lookUp<Result>(
  { lookUps }: Pick<LookUpDependencies, 'lookUps'>,
  res: Response,
  look: () => Promise<Result>,
  owner = ownerOf(callingKey(res)),
): Promise<Result> {
  const leaving = abortOnClose(res);
  const signal = AbortSignal.any([leaving.signal, AbortSignal.timeout(LONGEST_WAIT_MS)]);
  const slot = await whereJobsAre(lookUps.take(owner, signal)).finally(leaving.forget);
  try {
    return await whereJobsAre(look());
  } finally {
    slot.giveBack();
  }
}

const ownerOf = ({ keyId, workspace }: KeyRecord): SlotOwner => ({ workspaceId: workspace.workspaceId, keyId });

/** Reads jobs. Throws `jobs_unavailable` if the database does not answer. */
export async function whereJobsAre<Result>(look: Promise<Result>): Promise<Result> {
  try {
    return await look;
  } catch (error) {
    throw error instanceof ApiError ? error : new ApiError<LookUpFault>({ kind: 'jobs_unavailable' }, { cause: error });
  }
}

/** Longest wait for a turn to read an output, as long as the store itself may take. */
const CONTENT_WAIT_MS = 30_000;

/**
 * Opens an output that a client reads at its own pace, in the turn of the key. If another key needs the turn, the content
 * fails with `key_bound_reached`, because slow readers of one key must not hold all connections to the store.
 */
export async function openContent(
  { jobs, contents }: Pick<CallDependencies, 'jobs' | 'contents'>,
  res: Response,
  output: StoredOutput,
  range?: ByteRange,
): Promise<Readable> {
  const leaving = abortOnClose(res);
  const signal = AbortSignal.any([leaving.signal, AbortSignal.timeout(CONTENT_WAIT_MS)]);
  const turn = contents.take(ownerOf(callingKey(res)), signal).finally(leaving.forget);
  const slot = await whereOutputsAre(turn);
  try {
    const { content } = await whereOutputsAre(jobs.content(output, range));
    const cut = (): void => void content.destroy(contents.tooMany());
    slot.signal.addEventListener('abort', cut, { once: true });
    if (slot.signal.aborted) cut();
    // The reader of a content closes it. A client that leaves before the first read leaves a content without a reader.
    const closeUnread = (): void => {
      if (!content.readableDidRead) content.destroy();
    };
    res.once('close', closeUnread);
    content.once('close', () => {
      res.off('close', closeUnread);
      slot.giveBack();
    });
    if (res.destroyed) closeUnread();
    return content;
  } catch (error) {
    slot.giveBack();
    throw error;
  }
}

/** Reads an output. Throws `storage_unavailable` if the store does not answer. */
export async function whereOutputsAre<Result>(read: Promise<Result>): Promise<Result> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new ApiError<BackendFault>({ kind: 'storage_unavailable' }, { cause: error });
  }
}

/**
 * Reads the outputs of a job, one after the other. The first is already open, so that a failed store gives an error
 * status.
 */
export async function readOutputs(
  dependencies: Pick<CallDependencies, 'jobs' | 'contents'>,
  res: Response,
  job: ShownJob,
): Promise<ReadOutput> {
  const [first] = job.outputs;
  if (!first) throw new Error('a job is completed without an output');
  const opened = await openContent(dependencies, res, first);
  return async function* (index) {
    const output = job.outputs[index];
    if (!output) throw new Error('a job has no such output');
    yield* index === 0 ? opened : await openContent(dependencies, res, output);
  };
}

/** The families of paths that have jobs. */
export type JobKind = 'image' | 'audio' | 'video';

/**
 * Returns the job of a path, if it is of that family and of the key. Throws the same `job_not_found` in every other
 * case.
 */
export async function findJob(
  kind: JobKind,
  { jobs, lookUps }: Pick<LookUpDependencies, 'jobs' | 'lookUps'>,
  { req, res }: Exchange,
): Promise<ShownJob> {
  const address = { jobId: String(req.params.id), keyId: callingKey(res).keyId };
  const job = await lookUp({ lookUps }, res, () => jobs.find(address));
  if (!job || MEDIA_OPERATIONS[job.params.operation] !== kind) throw notFound();
  return job;
}

export const notFound = (): ApiError => new ApiError<LookUpFault>({ kind: 'job_not_found' });
