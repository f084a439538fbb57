import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
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
