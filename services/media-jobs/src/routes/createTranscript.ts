import { callingKey } from '@turnpike/authentication/keyGuard';
import type { EndCall } from '@turnpike/holds/call/callBook';
import { findLack } from '@turnpike/holds/gate/admitInRounds';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { ApiError } from '@turnpike/public-api/apiError';
import type { RequestHandler, Response } from 'express';
import {
  sendTranscript,
  type TranscriptAnswer,
  toTranscriptAnswer,
  toTranscriptEvents,
} from '../answer/audio/transcriptAnswer.ts';
import type { AdmissionFault } from '../api/mediaFault.ts';
import { pricesFor } from '../catalog/mediaCatalog.ts';
import type { Recording } from '../media/prepareRecording.ts';
import { leastCharge } from '../money/mediaCall.ts';
import type { MediaEnding } from '../money/toMediaEvent.ts';
import type { MediaDraft } from '../request/mediaDraft.ts';
import { BackendFault } from '../terms/backend.ts';
import type { TranscriptRequest } from '../terms/mediaRequest.ts';
import type { Transcript } from '../terms/transcript.ts';
import { abortOnClose } from './abortOnClose.ts';
import { admit, type Exchange, type MediaHouse, openCall, type ResolvedRequest, resolve } from './mediaHouse.ts';
import { obtainJob, sendJob } from './obtainJob.ts';
import { reasonOf, toCallError } from './toCallError.ts';

const SECONDS_PER_MINUTE = 60;

/**
 * POST /v1/audio/transcriptions and /v1/audio/translations: what is said in an upload; or a job. Who may not spend at all is refused
 * before the upload is read, and nothing is held before its seconds are known.
 */
export function createTranscript(operation: TranscriptRequest['operation'], house: MediaHouse): RequestHandler {
  return async (req, res) => {
    const key = callingKey(res);
    await assertMaySpend(house, { res, key, operation });
    const draft = await house.requests.readTranscriptRequest(operation, { req, res }, key.keyId);
    try {
      await answer(house, { req, res }, draft);
    } finally {
      await draft.discard();
    }
  };
}

/** Throws an `AdmissionFault` where the key could not pay for a second of the cheapest model. */
async function assertMaySpend(
  { admission, findShortage, catalog }: Pick<MediaHouse, 'admission' | 'findShortage' | 'catalog'>,
  { res, key, operation }: { res: Response; key: KeyRecord; operation: TranscriptRequest['operation'] },
): Promise<void> {
  const inForce = catalog.current();
  const least = inForce ? leastCharge(pricesFor(inForce, operation)) : 0n;
  try {
    const shortfall = await findLack({ ...admission, findShortage }, key, least);
    if (shortfall) throw new ApiError<AdmissionFault>({ kind: 'insufficient_balance', ...shortfall });
  } catch (error) {
    // Nobody reads what comes on this connection.
    res.shouldKeepAlive = false;
    throw error;
  }
}

async function answer(house: MediaHouse, exchange: Exchange, draft: MediaDraft<TranscriptRequest>): Promise<void> {
  const asked = resolve(draft, house);
  const { request } = asked;
  // Known before anything is decoded for nothing.
  if (!request.isAsync && house.backends.replicasFor(request.model).length === 0)
    throw toCallError(new BackendFault('busy'));
  const recording = await prepare(house, exchange, asked);
  if (!recording) return;
  try {
    const wanted = { ...asked, heardSeconds: recording.seconds };
    if (request.isAsync) {
      sendJob(house, exchange, await obtainJob(house, exchange, { ...wanted, digest: draft.digest, isHidden: false }));
      return;
    }
    const admitted = await admit(house, exchange, { ...wanted, isStream: request.isStream });
    const end = openCall(house, exchange.res, { admitted, isStream: request.isStream });
    const { unitsBound } = admitted.call;
    await transcribe(house, exchange, { request, recording, units: unitsBound, end });
  } finally {
    await recording.discard();
  }
}

/** Decodes the upload; undefined where its client has left meanwhile, as nothing was begun. */
async function prepare(
  { media }: Pick<MediaHouse, 'media'>,
  { res }: Exchange,
  { request, resolved }: ResolvedRequest<TranscriptRequest>,
): Promise<Recording | undefined> {
  const { maxMinutes } = resolved.model.media.capabilities;
  if (maxMinutes === undefined)
    throw new Error('the catalog has a model of speech-to-text without its longest recording');
  const leaving = abortOnClose(res);
  try {
    return await media.prepareRecording(request.file, {
      maxSeconds: maxMinutes * SECONDS_PER_MINUTE,
      signal: leaving.signal,
    });
  } catch (error) {
    if (leaving.signal.aborted) return undefined;
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
    units,
    end,
  }: { request: TranscriptRequest; recording: Recording; units: number; end: EndCall<MediaEnding> },
): Promise<void> {
  try {
    const never = new AbortController().signal;
    const { answer: transcript, done } = await house.replicas.ask(request.model, async (replica, dialect) => {
      if (!dialect.transcribe) throw new BackendFault('misconfigured');
      return dialect.transcribe(replica, request, recording, never);
    });
    done();
    const written = toAnswer(transcript, request, recording);
    const reason = res.destroyed ? 'client_left' : 'completed';
    const isKept = await end({ status: 'success', reason, units });
    if (!isKept) throw new Error('the end of a call could not be kept');
    if (!res.destroyed) sendTranscript(res, written);
  } catch (error) {
    // Ended before: then this changes nothing.
    await end({ status: 'failure', reason: reasonOf(error) });
    throw toCallError(error);
  }
}

const toAnswer = (
  transcript: Transcript,
  request: TranscriptRequest,
  recording: Pick<Recording, 'seconds'>,
): TranscriptAnswer =>
  request.isStream ? toTranscriptEvents(transcript, recording) : toTranscriptAnswer(transcript, request, recording);
