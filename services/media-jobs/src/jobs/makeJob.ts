import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import type { Hold } from '@turnpike/holds/call/pendingCalls';
import { pause } from '@turnpike/lifecycle/pause';
import { sql } from '@turnpike/postgres/sql';
import { MEDIA_OPERATIONS } from '@turnpike/public-api/operations';
import type { MediaRequest } from '../terms/mediaRequest.ts';
import type { JobDependencies } from './dependencies.ts';
import { inputKeyOf, makeJobId } from './jobNames.ts';
import { untilAnswered } from './obtainClaim.ts';
import { removeObjects } from './removal/removeObjects.ts';
import { type Claim, endClaim, freeOfJob } from './table/creations.ts';
import { insertJob, type NewJob } from './table/insertJob.ts';
import { isOpen, JOB_COLUMNS, type JobRow, type StoredInput, toHoldJson } from './table/jobRow.ts';
import { stepJob } from './table/steps.ts';
import { QUEUE_MS } from './times.ts';
import { toEnd } from './work/endJob.ts';
import { fromRequest } from './work/toRequest.ts';

/** An admitted call that becomes a job. */
export interface JobToMake
  extends Pick<NewJob, 'priceVersion' | 'billingUnit' | 'unitPrice' | 'unitsBound' | 'digest'> {
  request: MediaRequest;
  /** Whether the client waits for the result and gets no job. */
  isHidden: boolean;
  hold: Hold;
  claim: Claim;
}

const UNDO_AGAIN_MS = 1_000;
const LARGEST_INPUT_BYTES = 32 * 1_048_576;

/**
 * Makes a job of an admitted call: the key of its texts and its files go to the object store, then the row is inserted. If that fails, the
 * hold is released, the claim ends, and the error of the store or the database is thrown.
 */
export async function makeJob(dependencies: JobDependencies, job: JobToMake): Promise<JobRow> {
  const { db, texts, store, money } = dependencies;
  const { request, hold, isHidden, claim } = job;
  const modality = MEDIA_OPERATIONS[request.operation];
  const jobId = makeJobId(modality === 'video' ? 'video' : 'job');
  const { params, texts: plain } = fromRequest(request);
  const [sealedTexts, inputs] = await Promise.all([
    texts.seal(jobId, plain),
    storeInputs(jobId, request, dependencies),
  ]).catch((error: unknown) => {
    void money.holds.release(hold);
    void untilAnswered(() => endClaim(db, claim), dependencies);
    // The sweeper removes what this misses.
    removeObjects(store, jobId).catch(() => {});
    throw error;
  });
  try {
    const row = {
      ...job,
      jobId,
      modality,
      params,
      inputs,
      sealedTexts,
      operation: request.operation,
      model: request.model,
      isHidden,
      keyId: hold.keyId,
      workspaceId: hold.workspaceId,
      callId: hold.callId,
      holdNanoUsd: hold.holdNanoUsd,
      hold: toHoldJson(hold),
      owner: money.owner,
      queueMs: isHidden ? QUEUE_MS.waitedFor : QUEUE_MS[modality],
    };
    return await insertJob(db, row, claim);
  } catch (error) {
    void undo(dependencies, { jobId, hold, claim });
    throw error;
  }
}

async function storeInputs(
  jobId: string,
  request: MediaRequest,
  { store, metrics }: JobDependencies,
): Promise<StoredInput[]> {
  const put = async (source: Readable, type: string, extension: string): Promise<StoredInput[]> => {
    const key = inputKeyOf(jobId, extension);
    const { bytes } = await store.put(key, source, { contentType: type, maxBytes: LARGEST_INPUT_BYTES });
    metrics.bytesStored('input', bytes);
    return [{ key, bytes, type }];
  };
  if (request.operation === 'videos' && request.inputReference) {
    const { bytes, type } = request.inputReference;
    return put(Readable.from([bytes]), type, 'image');
  }
  if (request.operation === 'audio.transcriptions' || request.operation === 'audio.translations')
    return put(createReadStream(request.file.path), 'application/octet-stream', 'recording');
  return [];
}

/**
 * Ends the claim of a call whose client got a failure, so that no job comes of it. A job that is there is cancelled before it costs anything,
 * unless a repeat of the call has it. The hold ends after `undoMs`, whether the database answers or not.
 */
async function undo(
  dependencies: JobDependencies,
  { jobId, hold, claim }: { jobId: string; hold: Hold; claim: Claim },
): Promise<void> {
  const { db, store, money, log, undoMs } = dependencies;
  const inDoubt = setTimeout(() => {
    log.error(
      { jobId, callId: hold.callId },
      'ALERT the database does not say whether a job was made: its hold is released',
    );
    void money.holds.release(hold);
  }, undoMs);
  for (;;) {
    try {
      // One statement is enough if no row was made, which is usual: a slow database answers it, too.
      const isThere = (await endClaim(db, claim)) === 0 && (await cancelUntaken(dependencies, jobId, claim));
      clearTimeout(inDoubt);
      if (isThere) return;
      await money.holds.release(hold);
      // The sweeper removes what this misses.
      removeObjects(store, jobId).catch(() => {});
      return;
    } catch (error) {
      log.warn({ err: error, jobId }, 'whether a job was made is in doubt; looked at again');
    }
    await pause(UNDO_AGAIN_MS, new AbortController().signal);
  }
}

/** Cancels a job that no repeat of its call has. Returns whether the row is there. */
const cancelUntaken = ({ db, metrics, region }: JobDependencies, jobId: string, claim: Claim): Promise<boolean> =>
  db.transaction(async (tx) => {
    const [row] = await tx.query(sql<JobRow>`
      SELECT ${JOB_COLUMNS} FROM job WHERE job_id = ${jobId} FOR UPDATE`);
    if (row && isOpen(row.state) && (await freeOfJob(tx, claim)) > 0)
      await stepJob({ db: tx, metrics }, row, 'cancel', toEnd(row, { name: 'cancel' }, { region }));
    return row !== undefined;
  });
