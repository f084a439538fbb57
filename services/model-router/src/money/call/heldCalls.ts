import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import type { AdmittedCall } from './toEvent.ts';

/** The terms of a hold in Redis: with the call, enough to put the hold back. */
export interface HoldTerms {
  /** Admission, by Redis' clock. */
  admittedAtMs: number;
  /** The epoch of Redis that the call was admitted in. */
  epoch: number;
  estimatedPromptTokens: number;
  rpm: number;
  tpm: number;
}

/** A call that must have a hold in Redis. */
export interface HeldCall {
  call: AdmittedCall;
  terms: HoldTerms;
}

/** How a call ended: what is to be settled and sent. */
export interface EndedCall {
  event: UsageRecorded;
  json: string;
}

/**
 * The calls of this router that wait to be settled: those under way, and those that have ended since. When Redis is lost
 * they get their holds back; until a call has left this list its event does not leave the spool. Bounded by the calls under
 * way, since none is admitted while none is settled.
 */
export class HeldCalls {
  readonly #held = new Map<string, HeldCall & { hasEnded: boolean }>();
  /** Events that the spool refused, by call id. */
  readonly #unspooled = new Map<string, EndedCall>();

  get size(): number {
    return this.#held.size;
  }

  add(held: HeldCall, { hasEnded }: { hasEnded: boolean }): void {
    this.#held.set(held.call.callId, { ...held, hasEnded });
  }

  has(callId: string): boolean {
    return this.#held.has(callId);
  }

  /** The call has ended: its event is on its way to the spool. */
  end(callId: string): void {
    const held = this.#held.get(callId);
    if (held) held.hasEnded = true;
  }

  /** The call is settled, or was taken from this router. */
  remove(callId: string): void {
    this.#held.delete(callId);
  }

  list(): HeldCall[] {
    return [...this.#held.values()];
  }

  /** The spool refused the event: for as long as it does, it is kept here. */
  keepUnspooled(ended: EndedCall): void {
    this.#unspooled.set(ended.event.callId, ended);
  }

  /** The spool has taken the event after all. */
  forgetUnspooled(callId: string): void {
    this.#unspooled.delete(callId);
  }

  /**
   * The balances are built anew: calls that have ended are counted by the ledger and wait no more. Returns the events among
   * theirs that are not in the spool.
   */
  drawLine(): EndedCall[] {
    for (const [callId, { hasEnded }] of this.#held) if (hasEnded) this.#held.delete(callId);
    return [...this.#unspooled.values()];
  }
}
