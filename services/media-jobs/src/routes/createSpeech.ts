import type { Readable } from 'node:stream';
import { callingKey } from '@turnpike/authentication/keyGuard';
import type { EndCall } from '@turnpike/holds/call/pendingCalls';
import { abortOnClose } from '@turnpike/http-service/abortOnClose';
import type { RequestHandler, Response } from 'express';
import { sendSpeech } from '../answer/audio/sendSpeech.ts';
import { toUsageBody } from '../answer/jobs/jobBodies.ts';
import type { Delivery } from '../answer/writeToClient.ts';
import type { Claim } from '../jobs/table/creations.ts';
import type { AdmittedMedia } from '../money/admitMedia.ts';
import type { MediaEnding } from '../money/toMediaEvent.ts';
import { underDraft } from '../request/mediaDraft.ts';
import { BackendFault } from '../terms/backend.ts';
import type { ShownJob } from '../terms/job.ts';
import { SPEECH_TYPES, type SpeechFormat, type SpeechRequest } from '../terms/mediaRequest.ts';
import { admit, type CallDependencies, type Exchange, openCall, type ResolvedRequest, resolve } from './gates.ts';
import { claimCall, obtainJob, sendJob, underClaim } from './obtainJob.ts';
import { readKeptAnswer } from './readKeptAnswer.ts';
import { reasonOf, toCallError } from './toCallError.ts';

/**
 * POST /v1/audio/speech: returns the audio while it is made, as bytes or as events, or a job. A retry of complete
 * speech gets the same audio.
 */
export function createSpeech(dependencies: CallDependencies): RequestHandler {
  return async (req, res) => {
    const draft = await dependencies.requests.readSpeechRequest({ req, res }, callingKey(res).keyId);
    await underDraft(draft, async () => {
      const asked = resolve(draft, dependencies, res);
      const { digest } = draft;
      if (asked.request.isAsync) {
        sendJob(
          dependencies,
          { req, res },
          await obtainJob(dependencies, { req, res }, { ...asked, digest, isHidden: false }),
        );
        return;
      }
      const obtained = await claimCall(dependencies, { req, res }, digest);
      if ('job' in obtained) return await sendAgain(dependencies, res, asked.request, obtained.job);
      const { claim } = obtained;
      await underClaim(dependencies, claim, () => speak(dependencies, { req, res }, { ...asked, digest, claim }));
    });
  };
}

async function sendAgain(
  dependencies: CallDependencies,
  res: Response,
  request: SpeechRequest,
  job: ShownJob,
): Promise<void> {
  const { content, usage } = await readKeptAnswer(dependencies, res, job);
  const { chargeNanoUsd } = usage;
  await sendSpeech(res, request, {
    audio: content,
    onBegin() {},
    chargeNanoUsd,
    usage: async () => toUsageBody(usage),
  });
}

/** A claimed call for speech. */
interface ClaimedSpeech extends ResolvedRequest<SpeechRequest> {
  digest: Buffer;
  claim: Claim;
}

async function speak(dependencies: CallDependencies, exchange: Exchange, asked: ClaimedSpeech): Promise<void> {
  const { res } = exchange;
  const { request, digest, claim } = asked;
  if (dependencies.backends.replicasFor(request.model).length === 0) throw toCallError(new BackendFault('busy'));
  const isStream = true;
  const admitted = await admit(dependencies, exchange, { ...asked, isStream });
  const end = openCall(dependencies, res, { admitted, isStream });
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
    const sending = { request, digest, claim, admitted, signal: leaving.signal, onBegin, end };
    // Ended before where all of it has been made: then this changes nothing.
    if ((await sendSpokenAudio(dependencies, res, sending)) === 'sent') return;
    await end(leave());
    dependencies.jobs.giveUp(claim, { isRepeated: true });
  } catch (error) {
    if (leaving.signal.aborted) {
      await end(leave());
      // Speech that is not whole is kept for no retry.
      dependencies.jobs.giveUp(claim, { isRepeated: true });
      return;
    }
    await end({ status: 'failure', reason: reasonOf(error) });
    throw toCallError(error);
  } finally {
    leaving.forget();
  }
}

/** Inputs of sending speech. */
interface Sending extends Pick<ClaimedSpeech, 'request' | 'digest' | 'claim'> {
  admitted: AdmittedMedia;
  /** Fires once the client has left. */
  signal: AbortSignal;
  onBegin(): void;
  end: EndCall<MediaEnding>;
}

/** Sends it as a replica makes it. Before the last of it leaves, it is kept for retries and the call ends. */
async function sendSpokenAudio(
  dependencies: CallDependencies,
  res: Response,
  { request, digest, claim, admitted: { call, hold }, signal, onBegin, end }: Sending,
): Promise<Delivery> {
  const copy = await dependencies.media.copyAudio();
  const ask = dependencies.replicas.ask({ ...call, signal }, async (replica, { speech }) => {
    if (!speech) throw new BackendFault('misconfigured');
    return speech(replica, request, signal);
  });
  const { answer, done } = await ask.catch((error: unknown) => {
    copy.discard();
    throw error;
  });
  async function* untilEnded(audio: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    yield* copy.pass(audio);
    const made = { type: SPEECH_TYPES[request.responseFormat], read: () => copy.read() };
    const noteSettled = await dependencies.jobs.keepAnswer({ ...call, request, digest, claim, hold, made });
    const isKept = await end({ status: 'success', units: call.unitsBound });
    if (!isKept) throw new Error('the end of a call could not be kept');
    noteSettled();
  }
  try {
    const audio = await inFormat(dependencies, answer, { to: request.responseFormat, signal });
    const cost = { ...call, units: call.unitsBound, chargeNanoUsd: call.holdNanoUsd };
    return await sendSpeech(res, request, {
      audio: untilEnded(audio),
      onBegin,
      chargeNanoUsd: call.holdNanoUsd,
      usage: async () => toUsageBody(cost),
    });
  } finally {
    copy.discard();
    answer.audio.destroy();
    done();
  }
}

/** Converts the engine's audio to the requested format. */
async function inFormat(
  { media }: Pick<CallDependencies, 'media'>,
  { audio, format }: { audio: Readable; format: SpeechFormat },
  { to, signal }: { to: SpeechFormat; signal: AbortSignal },
): Promise<AsyncIterable<Buffer>> {
  if (format === to) return audio;
  // The engine made neither the requested format nor one that can be converted.
  if (format !== 'wav' && format !== 'pcm') throw new BackendFault('misconfigured');
  return media.convertSpeech(audio, { from: format, to, signal });
}
