import { setTimeout as delay } from 'node:timers/promises';
import { toUsageRecordedJson, type UsageRecorded } from '@turnpike/events/usageRecorded';
import type { Logger } from '@turnpike/logging/createLogger';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { type CallSpan, noSpan, toCallAttributes } from '@turnpike/telemetry/callSpan';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import type { CallAddress } from '../redis/redisKeys.ts';

/** The hold of a running call, with all fields that a put-back needs. */
export interface Hold extends CallAddress {
  holdNanoUsd: NanoUsd;
  /** Admission, by Redis' clock. */
  admittedAtMs: number;
  /** The session that it was admitted under. */
  session: string;
  /** Taken from the tokens-per-minute bucket at the admission; the rest is taken at settlement. */
  estimatedPromptTokens: number;
  rpm: number;
  tpm: number;
  /** The event a sweeper emits if the owner dies: the call's `unknown` ending. */
  unknownEventJson: string;
}

/** The month that a call counts in, `YYYY-MM`: that of its admission. */
export const monthOf = (admittedAtMs: number): string => new Date(admittedAtMs).toISOString().slice(0, 7);

/** The fields of a completion event that end a hold. All other fields concern only its writer and the ledger. */
export type EndingEvent = Pick<
  UsageRecorded,
  'callId' | 'workspaceId' | 'keyId' | 'status' | 'chargeNanoUsd' | 'promptTokens' | 'completionTokens' | 'startedAtMs'
>;

/** How a call ended: what is to be settled, sent and recorded. */
export interface EndedCall {
  event: EndingEvent;
  json: string;
  /** The most tokens that the rate of the key takes for the call: those that its admission bounded. No limit of media, or when undefined. */
  maxTokens?: number | undefined;
}

/**
 * The owner's calls that the ledger has not recorded, as far as an absorb has shown: running calls, and calls that have
 * ended since. After a loss of Redis they are put back. Bounded by the calls in progress and by the size of the spool.
 */
export class PendingCalls {
  readonly #held = new Map<string, Hold>();
  readonly #ended = new Map<string, EndedCall>();

  /** Whether nothing is left to bring to the ledger. */
  get isEmpty(): boolean {
    return this.#held.size === 0 && this.#ended.size === 0;
  }

  get size(): number {
    return this.#held.size + this.#ended.size;
  }

  add(hold: Hold): void {
    this.#held.set(hold.callId, hold);
  }

  end(ended: EndedCall): void {
    this.#held.delete(ended.event.callId);
    this.#ended.set(ended.event.callId, ended);
  }

  /** The sums in Redis contain the call. */
  remove(callId: string): void {
    this.#ended.delete(callId);
  }

  /** Removes a call whose hold was released. */
  drop(callId: string): void {
    this.#held.delete(callId);
  }

  isHeld(callId: string): boolean {
    return this.#held.has(callId);
  }

  hasEnded(callId: string): boolean {
    return this.#ended.has(callId);
  }

  get held(): Iterable<Hold> {
    return this.#held.values();
  }

  get ended(): Iterable<EndedCall> {
    return this.#ended.values();
  }
}

/** Lists the pending calls of some workspaces, at the time of each listing. */
export const pendingOf = (
  pending: PendingCalls,
  isWanted: (workspaceId: string) => boolean,
): Pick<PendingCalls, 'held' | 'ended'> => ({
  get held() {
    return [...pending.held].filter(({ workspaceId }) => isWanted(workspaceId));
  },
  get ended() {
    return [...pending.ended].filter(({ event }) => isWanted(event.workspaceId));
  },
});

const ENDED_POLL_MS = 20;

/** A call as the book goes by it. */
export interface BookedCall<Ending> {
  /** Follows the call, if it is traced. */
  span: CallSpan;
  /** The most tokens that its admission bounded; undefined of a call without tokens. */
  maxTokens?: number;
  toEvent(ending: Ending, instants: { admittedAtMs: number; endedAtMs: number }): UsageRecorded;
}

export interface CallBookOptions {
  holds: { settle(ended: EndedCall): Promise<boolean> };
  metrics: Pick<InferenceMetrics, 'callEnded' | 'alerted'>;
  /** Reason of the calls without a count that had none due. Clients can bring it about at will, so it raises no alert. */
  noneDueReason?: string;
  log: Logger;
}

/**
 * Ends the call once: the event is in the spool when this resolves, and its settlement under way. Later calls change nothing and resolve
 * as the first. False when neither disk nor Redis could keep the event: then the answer must not end as if it were whole.
 */
export type EndCall<Ending> = (ending: Ending) => Promise<boolean>;

/** The calls under way in this process: each is settled once when it ends. */
export class CallBook {
  readonly #options: CallBookOptions;
  #size = 0;
  /** Calls whose end is not safe yet. */
  #ending = 0;

  constructor(options: CallBookOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#size;
  }

  /** Opens the book on an admitted call, and returns what ends the call. Durations are measured by a monotonic clock. */
  open<Ending>(call: BookedCall<Ending>, { admittedAtMs }: Pick<Hold, 'admittedAtMs'>): EndCall<Ending> {
    const startedAt = performance.now();
    this.#size += 1;
    let ended: Promise<boolean> | undefined;
    return (how) => {
      if (ended) return ended;
      this.#size -= 1;
      this.#ending += 1;
      const endedAtMs = admittedAtMs + Math.round(performance.now() - startedAt);
      const event = call.toEvent(how, { admittedAtMs, endedAtMs });
      const { maxTokens } = call;
      reportCallEnd(event, this.#options, maxTokens);
      if (call.span !== noSpan) call.span.setAttributes(toCallAttributes(event));
      ended = this.#options.holds.settle({ event, json: toUsageRecordedJson(event), maxTokens }).finally(() => {
        this.#ending -= 1;
      });
      return ended;
    };
  }

  /** Resolves once no call is under way, also of those whose clients are gone: their ends are where they are safe. */
  async allEnded(): Promise<void> {
    while (this.#size + this.#ending > 0) await delay(ENDED_POLL_MS, undefined, { ref: false });
  }
}

/** Counts a call that has ended, and alerts where its end is one that a person has to look at. */
export function reportCallEnd(
  event: UsageRecorded,
  { metrics, noneDueReason, log }: Pick<CallBookOptions, 'metrics' | 'noneDueReason' | 'log'>,
  maxTokens = Number.POSITIVE_INFINITY,
): void {
  const { callId, formulaNanoUsd, holdNanoUsd, status, reason } = event;
  const tokens = event.promptTokens + event.completionTokens;
  if (tokens > maxTokens) {
    log.error({ callId, tokens, maxTokens }, 'ALERT count above its bound: the excess takes no tokens per minute');
    metrics.alerted('count_above_bound');
  }
  if (formulaNanoUsd > holdNanoUsd) {
    const amounts = { formula: String(formulaNanoUsd), hold: String(holdNanoUsd) };
    log.error({ callId, ...amounts }, 'ALERT charge above hold: the excess is not charged');
    metrics.alerted('charge_above_hold');
  }
  if (noneDueReason !== undefined && reason === noneDueReason) {
    log.info({ callId }, 'client left, and no event came: nothing is charged, and its tokens per minute stay taken');
  } else if (status === 'unknown') {
    log.error({ callId, reason }, 'ALERT call ended without a count: nothing is charged');
    metrics.alerted('unknown_ending');
  }
  metrics.callEnded(event);
}
