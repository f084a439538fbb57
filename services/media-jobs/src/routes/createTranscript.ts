import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { callingKey } from '@turnpike/authentication/keyGuard';
import { findLack, type Insufficient } from '@turnpike/holds/gate/admit';
import { abortOnClose } from '@turnpike/http-service/abortOnClose';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { ApiError } from '@turnpike/public-api/apiError';
import { invalidRequest } from '@turnpike/request-reading/faults/requestFault';
import type { RequestHandler, Response } from 'express';
import {
  type Heard,
  sendTranscript,
  type TranscriptAnswer,
  toTranscriptAnswer,
  toTranscriptEvents,
} from '../answer/audio/transcriptAnswer.ts';
import type { AdmissionFault } from '../api/mediaFault.ts';
import { priceOf, pricesFor } from '../catalog/mediaCatalog.ts';
import type { Claim } from '../jobs/table/creations.ts';
import { MediaFault } from '../media/mediaFault.ts';
import type { Recording } from '../media/prepareRecording.ts';
import type { AdmittedMedia } from '../money/admitMedia.ts';
import { chargeOf, leastCharge, payableUnits } from '../money/mediaCall.ts';
import { type MediaDraft, underDraft } from '../request/mediaDraft.ts';
import { BackendFault } from '../terms/backend.ts';
import type { ShownJob } from '../terms/job.ts';
import type { TranscriptRequest } from '../terms/mediaRequest.ts';
import type { Transcript } from '../terms/transcript.ts';
import { admit, type CallDependencies, type Exchange, openCall, type ResolvedRequest, resolve } from './gates.ts';
import { whereOutputsAre } from './lookUp.ts';
import { claimCall, makeClaimedJob, sendJob, underClaim } from './obtainJob.ts';
import { readKeptAnswer } from './readKeptAnswer.ts';
import { reasonOf, toCallError } from './toCallError.ts';

const SECONDS_PER_MINUTE = 60;

/**
 * POST /v1/audio/transcriptions and /v1/audio/translations: returns the transcript of an upload, or a job. A key that
 * may not spend is refused before the upload is read. A retry is detected before the upload is decoded, and nothing is
 * held before its seconds are known. A key whose uploads were refused after much decoding gets 429 for a while.
 */
export function createTranscript(
  operation: TranscriptRequest['operation'],
  dependencies: CallDependencies,
): RequestHandler {
  return async (req, res) => {
    const key = callingKey(res);
    await assertMayUpload(dependencies, { res, key, operation });
    const draft = await dependencies.requests.readTranscriptRequest(operation, { req, res }, key.keyId);
    await underDraft(draft, () => answer(dependencies, { req, res }, draft));
  };
}

/**
 * Throws an `AdmissionFault` if the key cannot pay for a second of the cheapest model, or if too much of it was decoded
 * for nothing.
 */
async function assertMayUpload(
  { admission, findShortage, catalog, refusedDecoding }: CallDependencies,
  { res, key, operation }: { res: Response; key: KeyRecord; operation: TranscriptRequest['operation'] },
): Promise<void> {
  const inForce = catalog.current;
  const least = inForce ? leastCharge(pricesFor(inForce, operation)) : 0n;
  try {
    refusedDecoding.check(key.keyId);
    const lack = await findLack({ ...admission, findShortage }, key, least);
    if (lack) throw insufficient(lack);
  } catch (error) {
    // The rest of the upload on this connection is not read.
    res.shouldKeepAlive = false;
    throw error;
  }
}

const insufficient = ({ shortfall }: Insufficient) =>
  new ApiError<AdmissionFault>({ kind: 'insufficient_balance', ...shortfall });

async function answer(
  dependencies: CallDependencies,
  exchange: Exchange,
  draft: MediaDraft<TranscriptRequest>,
): Promise<void> {
  const asked = resolve(draft, dependencies, exchange.res);
  const { request } = asked;
  const { digest } = draft;
  const obtained = await claimCall(dependencies, exchange, digest);
  if ('job' in obtained) {
    if (request.isAsync) sendJob(dependencies, exchange, obtained.job);
    else await sendAgain(dependencies, exchange, request, obtained.job);
    return;
  }
  const { claim } = obtained;
  // CPU time taken from the key's allowance until the call is admitted.
  const { keyId } = callingKey(exchange.res);
  const taken: (() => void)[] = [];
  const recording = await underClaim(dependencies, claim, () => {
    // A missing replica is reported before anything is decoded.
    if (!request.isAsync && dependencies.backends.replicasFor(request.model).length === 0)
      throw toCallError(new BackendFault('busy'));
    return prepare(dependencies, exchange, {
      ...asked,
      onWork: (processorMs) => taken.push(dependencies.refusedDecoding.take(keyId, processorMs)),
    });
  });
  if (!recording) {
    dependencies.jobs.giveUp(claim, { isRepeated: true });
    return;
  }
  const giveBack = (): void => {
    for (const give of taken) give();
  };
  const wanted = { ...asked, claim, digest, heardSeconds: recording.seconds };
  try {
    if (request.isAsync) {
      const job = await makeClaimedJob(dependencies, exchange, { ...wanted, isHidden: false });
      giveBack();
      sendJob(dependencies, exchange, job);
      return;
    }
    await underClaim(dependencies, claim, async () => {
      const admitted = await admit(dependencies, exchange, { ...wanted, isStream: request.isStream });
      giveBack();
      await transcribe(dependencies, exchange, { request, digest, claim, recording, admitted });
    });
  } finally {
    await recording.discard();
  }
}

/** Answers a retry with the kept answer of the call before. */
async function sendAgain(
  dependencies: CallDependencies,
  { res }: Exchange,
  request: TranscriptRequest,
  job: ShownJob,
): Promise<void> {
  const { output, content, usage } = await readKeptAnswer(dependencies, res, job);
  const { chargeNanoUsd } = usage;
  const transcript: Transcript = JSON.parse(await whereOutputsAre(text(content)));
  const answered = toAnswer(transcript, request, { seconds: output.seconds ?? 0, chargeNanoUsd });
  sendTranscript(res, answered, { chargeNanoUsd });
}

/**
 * Decodes the upload, up to the length that its key can pay for. Returns undefined if the client has left meanwhile,
 * because nothing was begun. Throws an `AdmissionFault` if the recording is longer than the key can pay for.
 */
async function prepare(
  { media, admission, findShortage, refusedDecoding }: CallDependencies,
  { res }: Exchange,
  { request, resolved, onWork }: ResolvedRequest<TranscriptRequest> & { onWork: (processorMs: number) => void },
): Promise<Recording | undefined> {
  const { maxMinutes } = resolved.model.media.capabilities;
  if (maxMinutes === undefined)
    throw new Error('the catalog has a model of speech-to-text without its longest recording');
  const key = callingKey(res);
  const most = maxMinutes * SECONDS_PER_MINUTE;
  const price = priceOf(resolved.model, request.operation);
  const lack = await findLack({ ...admission, findShortage }, key, chargeOf(most, price));
  const leaving = abortOnClose(res);
  try {
    return await media.prepareRecording(request.file, {
      owner: { workspaceId: key.workspace.workspaceId, keyId: key.keyId },
      isPatient: false,
      maxSeconds: lack ? payableUnits(lack.availableNanoUsd, { ...price, most }) : most,
      signal: leaving.signal,
      onTurn: () => refusedDecoding.check(key.keyId),
      onWork,
    });
  } catch (error) {
    if (leaving.signal.aborted) return undefined;
    if (error instanceof MediaFault && error.kind === 'too_long')
      throw lack
        ? insufficient(lack)
        : invalidRequest('file', `file must last at most ${maxMinutes} minutes for this model`);
    throw toCallError(error);
  } finally {
    leaving.forget();
  }
}

/**
 * Transcribes a recording on a replica, keeps the transcript for retries, and ends the call. The call is finished and charged even if its
 * client has left.
 */
async function transcribe(
  dependencies: CallDependencies,
  { res }: Exchange,
  {
    request,
    recording,
    admitted,
    ...claimed
  }: { request: TranscriptRequest; recording: Recording; admitted: AdmittedMedia; digest: Buffer; claim: Claim },
): Promise<void> {
  const end = openCall(dependencies, res, { admitted, isStream: request.isStream });
  try {
    const never = new AbortController().signal;
    const { keyId } = callingKey(res);
    const { answer: transcript, done } = await dependencies.replicas.ask(
      { model: request.model, keyId, signal: never },
      async (replica, dialect) => {
        if (!dialect.transcribe) throw new BackendFault('misconfigured');
        return dialect.transcribe(replica, request, recording, never);
      },
    );
    done();
    // The hold is the charge, because the seconds were measured before.
    const { call, hold } = admitted;
    const { unitsBound: units, holdNanoUsd: chargeNanoUsd } = call;
    const { seconds } = recording;
    const written = toAnswer(transcript, request, { seconds, chargeNanoUsd });
    const read = async () => Readable.from([Buffer.from(JSON.stringify(transcript))]);
    const made = { type: 'application/json', seconds, read };
    const noteSettled = await dependencies.jobs.keepAnswer({ ...call, ...claimed, request, hold, made });
    const reason = res.destroyed ? 'client_left' : 'completed';
    const isKept = await end({ status: 'success', reason, units });
    if (!isKept) throw new Error('the end of a call could not be kept');
    noteSettled();
    if (!res.destroyed) sendTranscript(res, written, { chargeNanoUsd });
  } catch (error) {
    // This has no effect if the call has ended before.
    await end({ status: 'failure', reason: reasonOf(error) });
    throw toCallError(error);
  }
}

const toAnswer = (transcript: Transcript, request: TranscriptRequest, heard: Heard): TranscriptAnswer =>
  request.isStream ? toTranscriptEvents(transcript, heard) : toTranscriptAnswer(transcript, request, heard);
