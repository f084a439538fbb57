import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { CallAddress } from '../redis/redisKeys.ts';

/** What is held in Redis for a call that runs: enough to put it back. */
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

/** What of a completion event the end of a hold goes by; all else in it is the business of its writer and of the ledger. */
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
 * The calls of this owner that the ledger has not recorded, as far as an absorb has said: those that run, and those that have ended
 * since. When Redis is lost they are put back. Bounded by the calls under way and by the size of the spool.
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

  /** What was held for the call is given back. */
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

/** What is to be put back of some workspaces, as it is whenever it is listed. */
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
