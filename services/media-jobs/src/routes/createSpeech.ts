import type { Readable } from 'node:stream';
import { callingKey } from '@turnpike/authentication/keyGuard';
import type { EndCall } from '@turnpike/holds/call/callBook';
import { abortOnClose } from '@turnpike/http-service/abortOnClose';
import type { RequestHandler, Response } from 'express';
import { sendSpeech } from '../answer/audio/sendSpeech.ts';
import { toUsageBody } from '../answer/jobs/jobBodies.ts';
import type { Delivery } from '../answer/writeToClient.ts';
import type { MediaCall } from '../money/mediaCall.ts';
import type { MediaEnding } from '../money/toMediaEvent.ts';
import { BackendFault } from '../terms/backend.ts';
import type { SpeechFormat, SpeechRequest } from '../terms/mediaRequest.ts';
import { admit, type Exchange, type MediaHouse, openCall, type ResolvedRequest, resolve } from './mediaHouse.ts';
import { obtainJob, sendJob } from './obtainJob.ts';
import { reasonOf, toCallError } from './toCallError.ts';

/** POST /v1/audio/speech: the audio as it is made, as bytes or as events; or a job. */
export function createSpeech(house: MediaHouse): RequestHandler {
  return async (req, res) => {
    const draft = await house.requests.readSpeechRequest({ req, res }, callingKey(res).keyId);
    try {
      const asked = resolve(draft, house);
      if (asked.request.isAsync) {
        const job = await obtainJob(house, { req, res }, { ...asked, digest: draft.digest, isHidden: false });
        sendJob(house, { req, res }, job);
      } else {
        await speak(house, { req, res }, asked);
      }
    } finally {
      await draft.discard();
    }
  };
}

async function speak(house: MediaHouse, exchange: Exchange, asked: ResolvedRequest<SpeechRequest>): Promise<void> {
  const { res } = exchange;
  const { request } = asked;
  if (house.backends.replicasFor(request.model).length === 0) throw toCallError(new BackendFault('busy'));
  const isStream = true;
  const admitted = await admit(house, exchange, { ...asked, isStream });
  const end = openCall(house, res, { admitted, isStream });
  const leaving = abortOnClose(res);
  let hasBegun = false;
  const leave = (): MediaEnding =>
    hasBegun
      ? { status: 'success', reason: 'client_left', units: admitted.call.unitsBound }
      : { status: 'failure', reason: 'client_left' };
  try {
    const onBegin = (): void => {
      hasBegun = true;
    };
    const sending = { request, call: admitted.call, signal: leaving.signal, onBegin, end };
    // Ended before where all of it has been made: then this changes nothing.
    if ((await sendSpokenAudio(house, res, sending)) === 'left') await end(leave());
  } catch (error) {
    if (leaving.signal.aborted) {
      await end(leave());
      return;
    }
    await end({ status: 'failure', reason: reasonOf(error) });
    throw toCallError(error);
  } finally {
    leaving.forget();
  }
}

/** What speech is sent with. */
interface Sending {
  request: SpeechRequest;
  call: MediaCall;
  /** Fires once the client has left. */
  signal: AbortSignal;
  onBegin(): void;
  end: EndCall<MediaEnding>;
}

/** Sends it as a replica makes it, and ends the call before the last of it leaves. */
async function sendSpokenAudio(
  house: MediaHouse,
  res: Response,
  { request, call, signal, onBegin, end }: Sending,
): Promise<Delivery> {
  const { answer, done } = await house.replicas.ask({ ...call, signal }, async (replica, { speech }) => {
    if (!speech) throw new BackendFault('misconfigured');
    return speech(replica, request, signal);
  });
  async function* untilEnded(audio: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    yield* audio;
    const isKept = await end({ status: 'success', units: call.unitsBound });
    if (!isKept) throw new Error('the end of a call could not be kept');
  }
  try {
    const audio = await inFormat(house, answer, { to: request.responseFormat, signal });
    const cost = { ...call, units: call.unitsBound, chargeNanoUsd: call.holdNanoUsd };
    return await sendSpeech(res, request, {
      audio: untilEnded(audio),
      onBegin,
      chargeNanoUsd: call.holdNanoUsd,
      usage: async () => toUsageBody(cost),
    });
  } finally {
    answer.audio.destroy();
    done();
  }
}

/** What the engine has made, in the format that was asked for. */
async function inFormat(
  { media }: Pick<MediaHouse, 'media'>,
  { audio, format }: { audio: Readable; format: SpeechFormat },
  { to, signal }: { to: SpeechFormat; signal: AbortSignal },
): Promise<AsyncIterable<Buffer>> {
  if (format === to) return audio;
  // An engine that makes neither what was asked for nor what it can be made of.
  if (format !== 'wav' && format !== 'pcm') throw new BackendFault('misconfigured');
  return media.convertSpeech(audio, { from: format, to, signal });
}
