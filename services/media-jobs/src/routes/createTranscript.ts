import { callingKey } from '@turnpike/authentication/keyGuard';
import type { EndCall } from '@turnpike/holds/call/callBook';
import { findLack, type Insufficient } from '@turnpike/holds/gate/admitInRounds';
import { abortOnClose } from '@turnpike/http-service/abortOnClose';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { ApiError } from '@turnpike/public-api/apiError';
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
import { MediaFault } from '../media/mediaFault.ts';
import type { Recording } from '../media/prepareRecording.ts';
import { chargeOf, leastCharge, type MediaCall, payableUnits } from '../money/mediaCall.ts';
import type { MediaEnding } from '../money/toMediaEvent.ts';
import type { MediaDraft } from '../request/mediaDraft.ts';
import { BackendFault } from '../terms/backend.ts';
import type { TranscriptRequest } from '../terms/mediaRequest.ts';
import type { Transcript } from '../terms/transcript.ts';
import { admit, type Exchange, type MediaHouse, openCall, type ResolvedRequest, resolve } from './mediaHouse.ts';
import { obtainJob, sendJob } from './obtainJob.ts';
import { reasonOf, toCallError } from './toCallError.ts';

const SECONDS_PER_MINUTE = 60;

/**
 * POST /v1/audio/transcriptions and /v1/audio/translations: what is said in an upload; or a job. Who may not spend at all is refused
 * before the upload is read, and nothing is held before its seconds are known. A key whose uploads were refused after much decoding gets
 * 429 for a while.
 */
export function createTranscript(operation: TranscriptRequest['operation'], house: MediaHouse): RequestHandler {
  return async (req, res) => {
    const key = callingKey(res);
    await assertMayUpload(house, { res, key, operation });
    const draft = await house.requests.readTranscriptRequest(operation, { req, res }, key.keyId);
    try {
      await answer(house, { req, res }, draft);
    } finally {
      await draft.discard();
    }
  };
}

/** Throws an `AdmissionFault` where the key could not pay for a second of the cheapest model, or where too much of it was decoded in vain. */
async function assertMayUpload(
  { admission, findShortage, catalog, refusedDecoding }: MediaHouse,
  { res, key, operation }: { res: Response; key: KeyRecord; operation: TranscriptRequest['operation'] },
): Promise<void> {
  const inForce = catalog.current();
  const least = inForce ? leastCharge(pricesFor(inForce, operation)) : 0n;
  try {
    refusedDecoding.check(key.keyId);
    const lack = await findLack({ ...admission, findShortage }, key, least);
    if (lack) throw insufficient(lack);
  } catch (error) {
    // Nobody reads what comes on this connection.
    res.shouldKeepAlive = false;
    throw error;
  }
}

const insufficient = ({ shortfall }: Insufficient) =>
  new ApiError<AdmissionFault>({ kind: 'insufficient_balance', ...shortfall });

async function answer(house: MediaHouse, exchange: Exchange, draft: MediaDraft<TranscriptRequest>): Promise<void> {
  const asked = resolve(draft, house);
  const { request } = asked;
  // Known before anything is decoded for nothing.
  if (!request.isAsync && house.backends.replicasFor(request.model).length === 0)
    throw toCallError(new BackendFault('busy'));
  // Taken of the key's bucket until the call is admitted.
  const { keyId } = callingKey(exchange.res);
  const taken: (() => void)[] = [];
  const recording = await prepare(house, exchange, {
    ...asked,
    onWork: (processorMs) => taken.push(house.refusedDecoding.take(keyId, processorMs)),
  });
  if (!recording) return;
  const giveBack = (): void => {
    for (const give of taken) give();
  };
  try {
    const wanted = { ...asked, heardSeconds: recording.seconds };
    if (request.isAsync) {
      const job = await obtainJob(house, exchange, { ...wanted, digest: draft.digest, isHidden: false });
      giveBack();
      sendJob(house, exchange, job);
      return;
    }
    const admitted = await admit(house, exchange, { ...wanted, isStream: request.isStream });
    giveBack();
    const end = openCall(house, exchange.res, { admitted, isStream: request.isStream });
    await transcribe(house, exchange, { request, recording, call: admitted.call, end });
  } finally {
    await recording.discard();
  }
}

/**
 * Decodes the upload, no further than its key can pay for; undefined where its client has left meanwhile, as nothing was begun. Throws an
 * `AdmissionFault` where the recording lasts longer than that.
 */
async function prepare(
  { media, admission, findShortage, refusedDecoding }: MediaHouse,
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
    if (lack && error instanceof MediaFault && error.kind === 'too_long') throw insufficient(lack);
    throw toCallError(error);
  } finally {
    leaving.forget();
  }
}

/** Has a replica write it down, and ends the call. It is finished and charged though its client may have left. */
async function transcribe(
  house: MediaHouse,
  { res }: Pick<Exchange, 'res'>,
  {
    request,
    recording,
    call,
    end,
  }: { request: TranscriptRequest; recording: Recording; call: MediaCall; end: EndCall<MediaEnding> },
): Promise<void> {
  try {
    const never = new AbortController().signal;
    const { keyId } = callingKey(res);
    const { answer: transcript, done } = await house.replicas.ask(
      { model: request.model, keyId, signal: never },
      async (replica, dialect) => {
        if (!dialect.transcribe) throw new BackendFault('misconfigured');
        return dialect.transcribe(replica, request, recording, never);
      },
    );
    done();
    // What is held of it is what it costs: its seconds were measured before.
    const { unitsBound: units, holdNanoUsd: chargeNanoUsd } = call;
    const written = toAnswer(transcript, request, { seconds: recording.seconds, chargeNanoUsd });
    const reason = res.destroyed ? 'client_left' : 'completed';
    const isKept = await end({ status: 'success', reason, units });
    if (!isKept) throw new Error('the end of a call could not be kept');
    if (!res.destroyed) sendTranscript(res, written, { chargeNanoUsd });
  } catch (error) {
    // Ended before: then this changes nothing.
    await end({ status: 'failure', reason: reasonOf(error) });
    throw toCallError(error);
  }
}

const toAnswer = (transcript: Transcript, request: TranscriptRequest, heard: Heard): TranscriptAnswer =>
  request.isStream ? toTranscriptEvents(transcript, heard) : toTranscriptAnswer(transcript, request, heard);
