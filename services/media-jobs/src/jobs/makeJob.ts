import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import type { Hold } from '@turnpike/holds/call/pendingCalls';
import { pause } from '@turnpike/lifecycle/pause';
import { MEDIA_OPERATIONS } from '@turnpike/public-api/operations';
import { Prisma } from '../generated/client.ts';
import type { MediaRequest } from '../terms/mediaRequest.ts';
import { makeJobId } from './jobId.ts';
import { inputKeyOf } from './objectKeys.ts';
import { untilAnswered } from './obtainClaim.ts';
import { toHoldJson } from './owners/holdJson.ts';
import { removeObjects } from './removal/removeJob.ts';
import { type Claim, endClaim, freeOfJob } from './table/creations.ts';
import { insertJob, type NewJob } from './table/insertJob.ts';
import { isOpen, JOB_COLUMNS, type JobRow, type StoredInput } from './table/jobRow.ts';
import { stepJob } from './table/stepJob.ts';
import { QUEUE_MS } from './times.ts';
import { toEnd } from './work/endJob.ts';
import type { House } from './work/house.ts';
import { fromRequest } from './work/toRequest.ts';

/** An admitted call that becomes a job. */
export interface JobToMake
  extends Pick<NewJob, 'priceVersion' | 'billingUnit' | 'unitPrice' | 'unitsBound' | 'digest'> {
  request: MediaRequest;
  /** Whether a client waits for it that is told no job. */
  isHidden: boolean;
  hold: Hold;
  claim: Claim;
}

const UNDO_AGAIN_MS = 1_000;
const LARGEST_INPUT_BYTES = 32 * 1_048_576;

/**
 * Makes a job of a call that was let in: its texts' key and its files go to the object store, then its row is there. Where that fails, the
 * hold is given back, the claim ends, and it rejects as the store or the database did.
 */
export async function makeJob(house: House, job: JobToMake): Promise<JobRow> {
  const { db, texts, money } = house;
  const { request, hold, isHidden, claim } = job;
  const modality = MEDIA_OPERATIONS[request.operation];
  const jobId = makeJobId(modality === 'video' ? 'video' : 'job');
  const { params, texts: plain } = fromRequest(request);
  const [sealedTexts, inputs] = await Promise.all([texts.seal(jobId, plain), storeInputs(jobId, request, house)]).catch(
    (error: unknown) => {
      void money.release(hold);
      void untilAnswered(() => endClaim(db, claim), house);
      // What was stored all the same is nobody's, and is swept.
      removeObjects(house.store, jobId).catch(() => {});
      throw error;
    },
  );
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
    void undo(house, { jobId, hold, claim });
    throw error;
  }
}

async function storeInputs(jobId: string, request: MediaRequest, { store, metrics }: House): Promise<StoredInput[]> {
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
 * Ends the claim of a client that was told that there is no job: none comes from here on. One that is there is cancelled, before it costs
 * anything, unless a repeat of the call has it. The hold ends after a while, whether the database answers or not.
 */
async function undo(house: House, { jobId, hold, claim }: { jobId: string; hold: Hold; claim: Claim }): Promise<void> {
  const { db, money, log } = house;
  const inDoubt = setTimeout(() => {
    log.error(
      { jobId, callId: hold.callId },
      'ALERT the database does not say whether a job was made: its hold is released',
    );
    void money.release(hold);
  }, house.undoMs);
  for (;;) {
    try {
      // One statement where no row was made, which is so nearly always: it is answered by a slow database, too.
      const isThere = (await endClaim(db, claim)) === 0 && (await cancelUntaken(house, jobId, claim));
      clearTimeout(inDoubt);
      if (isThere) return;
      await money.release(hold);
      // Objects that this misses are removed by the sweeper.
      removeObjects(house.store, jobId).catch(() => {});
      return;
    } catch (error) {
      log.warn({ err: error, jobId }, 'whether a job was made is in doubt; looked at again');
    }
    await pause(UNDO_AGAIN_MS, new AbortController().signal);
  }
}

/** Cancels a job that no repeat of its call has. Whether its row is there. */
const cancelUntaken = ({ db, money }: House, jobId: string, claim: Claim): Promise<boolean> =>
  db.$transaction(async (tx) => {
    const [row] = await tx.$queryRaw<JobRow[]>(Prisma.sql`
      SELECT ${JOB_COLUMNS} FROM job WHERE job_id = ${jobId} FOR UPDATE`);
    if (row && isOpen(row.state) && (await freeOfJob(tx, claim)) > 0)
      await stepJob(tx, row, toEnd(row, { state: 'cancelled' }, money));
    return row !== undefined;
  });
