import { MAX_RETRY_SHARE, MIN_RETRIES, RETRY_WINDOW_SECONDS } from './limits.ts';

/** How many calls may be tried again: one in ten of those of the last 30 s, and never fewer than ten. */
export class RetryBudget {
  readonly #nowMs: () => number;
  /** One slot for each second of the window, used in turn. */
  readonly #slots = Array.from({ length: RETRY_WINDOW_SECONDS }, () => ({ second: -1, calls: 0, retries: 0 }));

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  callBegan(): void {
    this.#slot().calls += 1;
  }

  /** Takes one retry; false when there is none left. */
  take(): boolean {
    if (this.left < 1) return false;
    this.#slot().retries += 1;
    return true;
  }

  /** Retries left now. */
  get left(): number {
    const oldest = Math.floor(this.#nowMs() / 1_000) - RETRY_WINDOW_SECONDS;
    let calls = 0;
    let retries = 0;
    for (const slot of this.#slots) {
      if (slot.second <= oldest) continue;
      calls += slot.calls;
      retries += slot.retries;
    }
    return Math.max(MIN_RETRIES, Math.floor(calls * MAX_RETRY_SHARE)) - retries;
  }

  #slot() {
    const second = Math.floor(this.#nowMs() / 1_000);
    const slot = this.#slots[second % RETRY_WINDOW_SECONDS];
    if (!slot) throw new Error('the clock of the retry budget runs below zero');
    if (slot.second !== second) Object.assign(slot, { second, calls: 0, retries: 0 });
    return slot;
  }
}
