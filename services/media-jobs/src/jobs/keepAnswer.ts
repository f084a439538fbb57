import type { Readable } from 'node:stream';
import type { JobDependencies } from './dependencies.ts';
import { makeJobId, outputKeyOf } from './jobNames.ts';
import type { JobToMake } from './makeJob.ts';
import { insertJob } from './table/insertJob.ts';
import { type JobRow, toHoldJson } from './table/jobRow.ts';
import { stepJob } from './table/steps.ts';
import { IN_DOUBT_MS } from './times.ts';
import { toEnd } from './work/endJob.ts';
import { toExtension } from './work/storeFile.ts';
import { fromRequest } from './work/toRequest.ts';

/** The complete answer of a call that was answered as it ran. */
export interface AnswerToKeep extends Omit<JobToMake, 'isHidden'> {
  made: { type: string; seconds?: number; read(): Promise<Readable> };
}

/** Size of the largest answer that is kept. */
const LARGEST_BYTES = 32 * 1_048_576;

/**
 * Stores an answer for retries of its call, and inserts a row for the call: a hidden, ended job with its charge and
 * completion event. So a crash before the call is settled neither loses nor repeats the charge. Rejects if the claim is
 * void.
 */
export async function keepAnswer(dependencies: JobDependencies, answer: AnswerToKeep): Promise<JobRow> {
  const { db, store: objects, money, metrics, region } = dependencies;
  const { request, hold, claim, made } = answer;
  const jobId = makeJobId('job');
  const key = outputKeyOf(jobId, { version: 1, tries: 0, index: 0, extension: toExtension(made.type) });
  const stored = await objects.put(key, await made.read(), { contentType: made.type, maxBytes: LARGEST_BYTES });
  metrics.bytesStored('output', stored.bytes);
  const output = { key, ...stored, type: made.type, ...(made.seconds !== undefined && { seconds: made.seconds }) };
  return db.transaction(async (tx) => {
    const row = await insertJob(
      tx,
      {
        ...answer,
        jobId,
        operation: request.operation,
        modality: 'audio',
        model: request.model,
        isHidden: true,
        params: fromRequest(request).params,
        sealedTexts: null,
        inputs: [],
        keyId: hold.keyId,
        workspaceId: hold.workspaceId,
        callId: hold.callId,
        holdNanoUsd: hold.holdNanoUsd,
        hold: toHoldJson(hold),
        owner: money.owner,
        queueMs: 0,
      },
      claim,
    );
    // This process settles the call at once, and notes that in the row.
    const given = { region, settledAfterMs: IN_DOUBT_MS };
    const end = toEnd(row, { name: 'complete', units: row.unitsBound, outputs: [output] }, given);
    const ended = await stepJob({ db: tx, metrics }, row, 'complete', end);
    if (!ended) throw new Error('a row that no other process sees was changed');
    return ended;
  });
}
