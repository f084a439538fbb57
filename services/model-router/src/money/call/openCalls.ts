import type { Region } from '@turnpike/config/region';
import { toUsageRecordedJson, type UsageRecorded } from '@turnpike/events/usageRecorded';
import { CallBook, type EndCall } from '@turnpike/holds/call/callBook';
import type { Hold } from '@turnpike/holds/call/pendingCalls';
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
  /** Part of the prompt read from the prefix cache; an engine that does not say counts as none. */
  cachedPromptTokens: number;
}

/** Why a call is charged: its answer is whole, its client left it, or the router ended it. */
export type SuccessReason = 'completed' | 'client_left' | `cut_${CutReason}`;

/** How a call ended. A `success` always has the engine's own counts; whatever else ends it costs nothing. */
export type Ending =
  | { status: 'success'; reason: SuccessReason; usage: EngineUsage }
  | { status: 'failure'; reason: string }
  /** The engine ended without saying how much it used, or the client left or the stream was cut before it said. */
  | { status: 'unknown'; reason: string };

/** The client left a stream of which no event had come from the engine yet: no count is missing, as none was due. */
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

/** The calls of text under way in this router. */
export class OpenCalls {
  readonly #book: CallBook;

  constructor(options: OpenCallsOptions) {
    this.#book = new CallBook({ ...options, noneDueReason: LEFT_BEFORE_FIRST_EVENT.reason });
  }

  get size(): number {
    return this.#book.size;
  }

  open(call: AdmittedCall, hold: Pick<Hold, 'admittedAtMs'>): OpenCall {
    return new OpenCall(call, this.#book, hold);
  }

  /** Resolves once no call is under way, and the ends of all are safe. */
  allEnded(): Promise<void> {
    return this.#book.allEnded();
  }
}

/** An admitted call of text. */
export class OpenCall {
  readonly callId: string;
  readonly #call: AdmittedCall;
  #ended: UsageRecorded | undefined;
  readonly #end: EndCall<{ ending: Ending; target: string }>;

  constructor(call: AdmittedCall, book: CallBook, hold: Pick<Hold, 'admittedAtMs'>) {
    this.callId = call.callId;
    this.#call = call;
    const { span, maxTokens } = call;
    this.#end = book.open(
      {
        span,
        maxTokens,
        toEvent: (ended, instants) => {
          this.#ended = toEvent(call, { ...ended, ...instants });
          return this.#ended;
        },
      },
      hold,
    );
  }

  /**
   * Ends the call once (`EndCall` of the book). `target` is the routing target that served the call; without one its row names the
   * canonical model.
   */
  end(ending: Ending, target = this.#call.model.id): Promise<boolean> {
    return this.#end({ ending, target });
  }

  /** The completion event; undefined while the call is open. */
  get ended(): UsageRecorded | undefined {
    return this.#ended;
  }

  /** The charge of this call if it ends as a success with this usage. */
  chargeOf(usage: EngineUsage): NanoUsd {
    return chargeOf(this.#call, usage).chargeNanoUsd;
  }
}

const NO_USAGE: EngineUsage = { promptTokens: 0, completionTokens: 0, cachedPromptTokens: 0 };

/** The completion event of a call; a formula above the hold is charged as the hold. */
function toEvent(
  call: AdmittedCall,
  {
    ending,
    target,
    admittedAtMs,
    endedAtMs,
  }: { ending: Ending; target: string; admittedAtMs: number; endedAtMs: number },
): UsageRecorded {
  const usage = ending.status === 'success' ? billedUsage(ending.usage, call.model) : NO_USAGE;
  const images = ending.status === 'success' ? call.images : 0;
  const { formulaNanoUsd, chargeNanoUsd } =
    ending.status === 'success' ? chargeOf(call, ending.usage) : { formulaNanoUsd: 0n, chargeNanoUsd: 0n };
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

/** The charge of a call with this usage: by the formula, and at most what is held. */
function chargeOf(
  { model, images, holdNanoUsd }: AdmittedCall,
  usage: EngineUsage,
): { formulaNanoUsd: NanoUsd; chargeNanoUsd: NanoUsd } {
  const formulaNanoUsd = computeCharge({ ...billedUsage(usage, model), images }, model.prices);
  return { formulaNanoUsd, chargeNanoUsd: formulaNanoUsd < holdNanoUsd ? formulaNanoUsd : holdNanoUsd };
}

/**
 * The usage that is charged and shown. On a model that is not cache-capable no prompt token counts as read from a cache.
 */
const billedUsage = (usage: EngineUsage, { isCacheCapable }: PricedModel): EngineUsage =>
  isCacheCapable ? usage : { ...usage, cachedPromptTokens: 0 };

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
