import type { Region } from '@turnpike/config/region';
import { toUsageRecordedJson, type UsageRecorded } from '@turnpike/events/usageRecorded';
import type { Hold } from '@turnpike/holds/call/pendingCalls';
import { type BookedCall, CallBook, type EndCall } from '@turnpike/holds/call/pendingCalls';
import type { Holds } from '@turnpike/holds/holds';
import type { Logger } from '@turnpike/logging/createLogger';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { computeCharge } from '@turnpike/money/price';
import type { CallSpan } from '@turnpike/telemetry/callSpan';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import type { CutReason } from '../../api/inferenceFault.ts';
import type { PricedModel } from '../../catalog/catalog.ts';

/** The engine's count for one call so far: the tokens that are billed. */
export interface EngineUsage {
  promptTokens: number;
  completionTokens: number;
  /** Part of the prompt read from the prefix cache; 0 if the engine does not report it. */
  cachedPromptTokens: number;
}

/** Why a call is charged: its answer is complete, its client left, or the router ended it. */
export type SuccessReason = 'completed' | 'client_left' | `cut_${CutReason}`;

/** The end of a call. A `success` always has the engine's counts; other ends cost nothing. */
export type Ending =
  | { status: 'success'; reason: SuccessReason; usage: EngineUsage }
  | { status: 'failure'; reason: string }
  /** The engine ended without a count, or the client left or the stream was cut before a count. */
  | { status: 'unknown'; reason: string };

/** The client left a stream before the engine's first event, so a missing count is expected. */
export const LEFT_BEFORE_FIRST_EVENT = {
  status: 'unknown',
  reason: 'client_left_before_first_event',
} as const satisfies Ending;

/** The facts of a call that are fixed when it is admitted. */
export interface AdmittedCall {
  callId: string;
  /** The `x-request-id` of its answer. */
  requestId?: string | undefined;
  keyId: string;
  workspaceId: string;
  region: Region;
  operation: UsageRecorded['operation'];
  model: PricedModel;
  priceVersion: number;
  images: number;
  holdNanoUsd: NanoUsd;
  /** The bounds of prompt and output together. */
  maxTokens: number;
  isStream: boolean;
  /** Follows the call, if it is traced; the ledger's work on its event is linked to it. */
  span: CallSpan;
}

export interface OpenCallsOptions {
  holds: Pick<Holds, 'settle'>;
  metrics: Pick<InferenceMetrics, 'callEnded' | 'alerted'>;
  log: Logger;
}

/** The text calls in progress in this router. */
export class OpenCalls extends CallBook {
  constructor(options: OpenCallsOptions) {
    super({ ...options, noneDueReason: LEFT_BEFORE_FIRST_EVENT.reason });
  }
}

/** An admitted text call: in the book from its opening to its end. */
export class OpenCall implements BookedCall<EndOfCall> {
  readonly callId: string;
  readonly span: CallSpan;
  readonly maxTokens: number;
  /** The completion event; undefined while the call is open. Changed here alone. */
  ended: UsageRecorded | undefined;
  readonly #call: AdmittedCall;
  readonly #end: EndCall<EndOfCall>;

  constructor(call: AdmittedCall, book: OpenCalls, hold: Pick<Hold, 'admittedAtMs'>) {
    this.callId = call.callId;
    this.span = call.span;
    this.maxTokens = call.maxTokens;
    this.#call = call;
    this.#end = book.open(this, hold);
  }

  /** For the book. */
  toEvent(end: EndOfCall, instants: { admittedAtMs: number; endedAtMs: number }): UsageRecorded {
    this.ended = toEvent(this.#call, { ...end, ...instants });
    return this.ended;
  }

  /**
   * Ends the call once (`EndCall` of the book). `target` is the routing target that served the call; without one its row names the
   * canonical model.
   */
  end(ending: Ending, target = this.#call.model.id): Promise<boolean> {
    return this.#end({ ending, target });
  }

  /** The charge of this call if it ends as a success with this usage. */
  chargeOf(usage: EngineUsage): NanoUsd {
    return chargeOf(this.#call, usage).chargeNanoUsd;
  }
}

interface EndOfCall {
  ending: Ending;
  target: string;
}

const NOT_CHARGED: Charge = {
  usage: { promptTokens: 0, completionTokens: 0, cachedPromptTokens: 0 },
  images: 0,
  formulaNanoUsd: 0n,
  chargeNanoUsd: 0n,
};

/** The completion event of a call; a formula above the hold is charged as the hold. */
function toEvent(
  call: AdmittedCall,
  { ending, target, admittedAtMs, endedAtMs }: EndOfCall & { admittedAtMs: number; endedAtMs: number },
): UsageRecorded {
  const { usage, images, formulaNanoUsd, chargeNanoUsd } =
    ending.status === 'success' ? chargeOf(call, ending.usage) : NOT_CHARGED;
  return {
    version: 1,
    callId: call.callId,
    keyId: call.keyId,
    workspaceId: call.workspaceId,
    region: call.region,
    operation: call.operation,
    model: target,
    canonicalModel: call.model.id,
    priceVersion: call.priceVersion,
    status: ending.status,
    reason: ending.reason,
    promptTokens: usage.promptTokens,
    cachedPromptTokens: usage.cachedPromptTokens,
    completionTokens: usage.completionTokens,
    images,
    chargeNanoUsd,
    formulaNanoUsd,
    holdNanoUsd: call.holdNanoUsd,
    modality: 'text',
    billingUnit: 'token',
    isStream: call.isStream,
    startedAtMs: admittedAtMs,
    endedAtMs: Math.max(endedAtMs, admittedAtMs),
    traceparent: call.span.traceparent,
    requestId: call.requestId,
  };
}

interface Charge {
  /** The usage that is charged. */
  usage: EngineUsage;
  images: number;
  formulaNanoUsd: NanoUsd;
  chargeNanoUsd: NanoUsd;
}

/**
 * The charge of a call with this usage: by the formula, and at most what is held. On a model that is not cache-capable no prompt
 * token counts as read from a cache.
 */
function chargeOf({ model, images, holdNanoUsd }: AdmittedCall, counted: EngineUsage): Charge {
  const usage = model.isCacheCapable ? counted : { ...counted, cachedPromptTokens: 0 };
  const formulaNanoUsd = computeCharge({ ...usage, images }, model.prices);
  const chargeNanoUsd = formulaNanoUsd < holdNanoUsd ? formulaNanoUsd : holdNanoUsd;
  return { usage, images, formulaNanoUsd, chargeNanoUsd };
}

/** The event a sweeper emits for a call whose router is gone; it puts in the instants. */
export function toUnknownEventJson(call: AdmittedCall): string {
  return toUsageRecordedJson(
    toEvent(call, {
      ending: { status: 'unknown', reason: 'router_gone' },
      target: call.model.id,
      admittedAtMs: 0,
      endedAtMs: 0,
    }),
  );
}
