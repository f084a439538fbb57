import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { abortOnClose } from '@turnpike/http-service/abortOnClose';
import { ApiError } from '@turnpike/public-api/apiError';
import { KEY_LIMIT_HEADERS, NEVER_RETRY, type RateLimitState, toRateLimitHeaders } from '@turnpike/public-api/headers';
import type { ImageLoader } from '@turnpike/request-reading/images/createImageLoader';
import { ImageError } from '@turnpike/request-reading/images/imageError';
import type { TakenBytes } from '@turnpike/request-reading/shares/bodyMemory';
import type { Response } from 'express';
import { toInferenceError } from '../api/inferenceError.ts';
import type { CallFault, WindowUse } from '../api/inferenceFault.ts';
import {
  type Ending,
  type EngineUsage,
  LEFT_BEFORE_FIRST_EVENT,
  type OpenCall,
  type SuccessReason,
} from '../money/call/openCalls.ts';
import { fitOutput } from '../money/gate/admitCall.ts';
import type { InferenceRequest } from '../request/inferenceRequest.ts';
import { inWordsOf } from '../request/rewriteBody.ts';
import { type AnswerDependencies, type Call, ENGINE_FAILED, type Outcome } from './call.ts';
import { ClientStream, cutSlowReader } from './chunks/clientStream.ts';
import type { StreamEncoder } from './chunks/streamEncoder.ts';
import type { Payload } from './fields/answerFields.ts';
import { type AttemptOn, runOnEngines } from './runOnEngines.ts';
import { StreamAttempt } from './streamAttempt.ts';
import { attemptWhole } from './wholeAttempt.ts';

/** The response, and what is settled and freed with it. */
export interface AnswerOptions {
  /** The open call. Only `answerCall` ends it. */
  open: Pick<OpenCall, 'end'>;
  /** Memory of the call's body, images and non-streaming answer. */
  room: TakenBytes;
  rateLimit: RateLimitState;
  res: Response;
}

/**
 * Answers an admitted call, streamed or not, and always ends it. The call is settled before the last byte is sent. An incomplete
 * stream ends in an error event. Throws the fault of a call whose client has got nothing yet.
 */
export async function answerCall(
  dependencies: AnswerDependencies,
  call: Call,
  { open, room, rateLimit, res }: AnswerOptions,
): Promise<void> {
  let stream: { client: ClientStream; encoder: StreamEncoder } | undefined;
  let { bound } = call;

  async function run(): Promise<Outcome> {
    const limits = toRateLimitHeaders(rateLimit);
    for (const name of KEY_LIMIT_HEADERS) res.setHeader(name, limits[name]);
    bound = await fitOutput(dependencies.countPromptTokens, { ...call, owner: call });
    const ready = { ...call, bound };
    if (call.request.images.urls.length > 0) {
      const loaded = await loadImages(dependencies.images, call, { room, res });
      if (loaded.kind !== 'loaded') return loaded;
      ready.request = loaded.request;
    }
    const { operation, callId, chargeOf } = call;
    const { isStream, includeUsage, echo } = ready.request;
    if (!isStream)
      return runOnEngines(dependencies, ready, { attemptOn: attemptWhole(dependencies, ready, room), res });
    if (!operation.chunks) throw new Error(`${operation.name} are not streamed`);
    const { id: canonicalModel, isCacheCapable } = call.model;
    const terms = { callId, canonicalModel, includeUsage, echo, isCacheCapable, chargeOf };
    const client = new ClientStream(res, dependencies.timeouts, operation.chunks.keepAlive);
    const encoder = operation.chunks.createEncoder(terms);
    stream = { client, encoder };
    const endsAt = performance.now() + dependencies.timeouts.streamMs;
    const attemptOn: AttemptOn = (attempt) =>
      new StreamAttempt(dependencies, ready, attempt, { client, encoder, endsAt }).run();
    return runOnEngines(dependencies, ready, { attemptOn, res });
  }

  let outcome = await run().catch(toOutcome);
  const { ending } = conclude(outcome, call.chargeOf);
  const isKept = await open.end(ending, outcome.target).catch((error: unknown) => {
    outcome = toOutcome(error);
    return false;
  });
  if (outcome.kind === 'whole' && outcome.usage && isKept) {
    if (stream) stream.client.end(outcome.rest ?? '');
    else await sendWhole(res, outcome.rest ?? '', dependencies.timeouts.slowReaderMs);
    return;
  }
  const { fault: concluded } = conclude(outcome, call.chargeOf);
  if (!concluded) return;
  const fault: CallFault =
    concluded.kind === 'context_too_long'
      ? { ...concluded, window: toWindowUse({ ...call, bound }) }
      : inWordsOf(call.operation, concluded);
  if (stream?.client.hasBegun) {
    // The status is sent already, so the fault becomes an event.
    if (fault.kind === 'key_bound_reached') dependencies.metrics.keyBoundHit(fault.bound, call.keyId);
    if (outcome.kind === 'unforeseen') call.log().error({ err: outcome.error, callId: call.callId }, 'stream failed');
    stream.client.end(stream.encoder.fail(toInferenceError(fault, dependencies)));
    return;
  }
  stream?.client.detach();
  if (outcome.kind !== 'unforeseen') throw new ApiError(fault);
  if (!res.headersSent) res.setHeaders(new Map(Object.entries(NEVER_RETRY)));
  throw outcome.error;
}

/**
 * Returns how an outcome is booked, and the fault for the client: undefined if the client is gone. A call is charged by its
 * engine's count. Without a count it ends as unknown; counts are never guessed. For a whole answer the fault is the one to send if
 * the answer has no count, or its ending could not be stored. `chargeOf` returns the charge of a usage.
 */
export function conclude(
  outcome: Outcome,
  chargeOf: (usage: EngineUsage) => bigint,
): { ending: Ending; fault: CallFault | undefined } {
  switch (outcome.kind) {
    case 'whole': {
      const { usage } = outcome;
      const fault: CallFault = usage ? { kind: 'ending_not_kept' } : ENGINE_FAILED;
      return { ending: toCounted('completed', usage, 'engine_gave_no_count'), fault };
    }
    case 'left_midway': {
      const { usage } = outcome;
      return { ending: toCounted('client_left', usage, 'client_left_before_first_count'), fault: undefined };
    }
    case 'cut': {
      const { by, afterMs, usage } = outcome;
      const charged = usage && { completionTokens: usage.completionTokens, chargeNanoUsd: chargeOf(usage) };
      return {
        ending: toCounted(`cut_${by}`, usage, `cut_${by}`),
        fault: { kind: 'stream_cut', by, afterMs, charged },
      };
    }
    case 'left_before_event':
      return { ending: LEFT_BEFORE_FIRST_EVENT, fault: undefined };
    case 'left_in_queue':
      return { ending: toFailure('client_left_in_queue'), fault: undefined };
    case 'left_before_engine':
      return { ending: toFailure('client_left_before_engine'), fault: undefined };
    case 'refused':
      return { ending: toFailure(outcome.fault.kind), fault: outcome.fault };
    case 'broken_off':
      return { ending: toFailure(outcome.reason), fault: outcome.fault };
    case 'unforeseen':
      return { ending: toFailure('unforeseen'), fault: ENGINE_FAILED };
  }
}

const toFailure = (reason: string): Ending => ({ status: 'failure', reason });

const toCounted = (reason: SuccessReason, usage: EngineUsage | undefined, withoutCount: string): Ending =>
  usage ? { status: 'success', reason, usage } : { status: 'unknown', reason: withoutCount };

const toWindowUse = ({ operation, request, model, bound }: Call): WindowUse => ({
  model: model.id,
  windowTokens: model.contextLength,
  prompt: operation.isGenerating
    ? {
        tokens: bound.isCounted ? bound.promptTokens : bound.estimatedPromptTokens,
        isCounted: bound.isCounted,
        outputTokens: bound.outputTokens,
      }
    : undefined,
  isOutputFitted: request.isOutputFitted ?? false,
});

const toOutcome = (error: unknown): Outcome =>
  error instanceof ApiError ? { kind: 'refused', fault: error.fault as CallFault } : { kind: 'unforeseen', error };

/** Sends a non-streaming answer, if the client is still there. Resolves once the answer is read or cut and its memory is free. */
async function sendWhole(res: Response, payload: Payload, slowReaderMs: number): Promise<void> {
  if (res.destroyed) return;
  const bytes = Buffer.byteLength(payload);
  res.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': bytes });
  // A text goes out in one write with the headers.
  res.end(payload);
  // Most answers are read at once.
  if (res.writableLength === 0) return;
  const closed = once(res, 'close');
  cutSlowReader(res, slowReaderMs);
  await closed;
}

/** The request with its loaded images, or the outcome of a call whose images cannot be loaded. */
export type LoadedImages =
  | { kind: 'loaded'; request: InferenceRequest }
  | Extract<Outcome, { kind: 'left_before_engine' | 'refused' }>;

/**
 * Fetches the images of an admitted call. All unusable images give the same fault. Throws `key_bound_reached` or
 * `no_room_for_body`.
 */
export async function loadImages(
  images: ImageLoader,
  { request, workspaceId, keyId, log }: Pick<Call, 'request' | 'workspaceId' | 'keyId' | 'log'>,
  { room, res }: { room: TakenBytes; res: Pick<ServerResponse, 'destroyed' | 'once' | 'off'> },
): Promise<LoadedImages> {
  const leaving = abortOnClose(res);
  try {
    const fetched = await images.load(request.images.urls, { workspaceId, keyId, room, signal: leaving.signal });
    return { kind: 'loaded', request: { ...request, images: { ...request.images, fetched } } };
  } catch (error) {
    if (leaving.signal.aborted) return { kind: 'left_before_engine' };
    if (!(error instanceof ImageError)) throw error;
    log().info({ reason: error.reason }, 'image cannot be used');
    return { kind: 'refused', fault: { kind: 'image_unusable' } };
  } finally {
    leaving.forget();
  }
}
