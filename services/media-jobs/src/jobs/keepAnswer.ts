import type { Readable } from 'node:stream';
import { Prisma } from '../generated/client.ts';
import { makeJobId } from './jobId.ts';
import type { JobToMake } from './makeJob.ts';
import { outputKeyOf } from './objectKeys.ts';
import { toHoldJson } from './owners/holdJson.ts';
import { insertJob } from './table/insertJob.ts';
import type { JobRow } from './table/jobRow.ts';
import { type RowVersion, stepJob } from './table/stepJob.ts';
import { IN_DOUBT_MS } from './times.ts';
import { type JobEnd, toEnd } from './work/endJob.ts';
import type { House } from './work/house.ts';
import { toExtension } from './work/storeFile.ts';
import { fromRequest } from './work/toRequest.ts';

/** The whole answer of a call that was answered as it ran. */
export interface AnswerToKeep extends Omit<JobToMake, 'isHidden'> {
  made: { type: string; seconds?: number; read(): Promise<Readable> };
}

/** Largest answer that is kept. */
const LARGEST_BYTES = 32 * 1_048_576;

/**
 * Stores an answer for retries of its call, and makes a row of the call: a hidden job that has ended, with its charge and its completion
 * event, so that a crash before the call is settled neither loses the charge nor has it made twice. Rejects where the claim is void.
 */
export async function keepAnswer({ db, store: objects, money, metrics }: House, answer: AnswerToKeep): Promise<JobRow> {
  const { request, hold, claim, made } = answer;
  const jobId = makeJobId('job');
  const key = outputKeyOf(jobId, { version: 1, tries: 0, index: 0, extension: toExtension(made.type) });
  const stored = await objects.put(key, await made.read(), { contentType: made.type, maxBytes: LARGEST_BYTES });
  metrics.bytesStored('output', stored.bytes);
  const output = { key, ...stored, type: made.type, ...(made.seconds !== undefined && { seconds: made.seconds }) };
  return db.$transaction(async (tx) => {
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
    const end: JobEnd = { state: 'completed', units: row.unitsBound, outputs: [output] };
    // This process settles the call at once, and the row says so then.
    const ended = await stepJob(tx, row, toEnd(row, end, money, { settledAfterMs: IN_DOUBT_MS }));
    if (!ended) throw new Error('a row that no other process sees was changed');
    return ended;
  });
}

/** Notes that the call of an answer is settled. */
export const noteSettled = ({ db }: Pick<House, 'db'>, row: RowVersion): Promise<JobRow | undefined> =>
  stepJob(db, row, Prisma.sql`settled_at = now(), due_at = remove_at`);
