import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import type { AdmittedCall } from './toEvent.ts';

/** The terms of a hold in Redis: with the call, enough to put the hold back. */
export interface HoldTerms {
  /** Admission, by Redis' clock. */
  admittedAtMs: number;
  /** The session that it was admitted under. */
  session: string;
  estimatedPromptTokens: number;
  rpm: number;
  tpm: number;
}

/** A call that runs. */
export interface HeldCall {
  call: AdmittedCall;
  terms: HoldTerms;
}

/** How a call ended: what is to be settled, sent and recorded. */
export interface EndedCall {
  event: UsageRecorded;
  json: string;
}

/**
 * The calls of this router that the ledger has not recorded, as far as an absorb has said: those that run, and those that have ended
 * since. When Redis is lost they are put back. Bounded by the calls under way and by the size of the spool.
 */
export class PendingCalls {
  readonly #held = new Map<string, HeldCall>();
  readonly #ended = new Map<string, EndedCall>();

  /** Whether nothing is left to bring to the ledger. */
  get isEmpty(): boolean {
    return this.#held.size === 0 && this.#ended.size === 0;
  }

  get size(): number {
    return this.#held.size + this.#ended.size;
  }

  add(held: HeldCall): void {
    this.#held.set(held.call.callId, held);
  }

  end(ended: EndedCall): void {
    this.#held.delete(ended.event.callId);
    this.#ended.set(ended.event.callId, ended);
  }

  /** The sums in Redis contain the call. */
  remove(callId: string): void {
    this.#ended.delete(callId);
  }

  hasEnded(callId: string): boolean {
    return this.#ended.has(callId);
  }

  get held(): Iterable<HeldCall> {
    return this.#held.values();
  }

  get ended(): Iterable<EndedCall> {
    return this.#ended.values();
  }
}
