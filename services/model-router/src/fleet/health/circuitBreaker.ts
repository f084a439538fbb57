const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
/** An engine that was in for this long begins with the shortest wait again. */
const TRUSTED_AFTER_MS = 60_000;

/** `closed`: calls flow. `open`: none do. `half_open`: one trial is under way, and decides. */
export type BreakerState = 'closed' | 'open' | 'half_open';

/**
 * Keeps calls from an engine that fails them. It opens when told to, for 1 s and twice as long each further time, up to
 * 60 s, give or take a fifth so that routers do not come back together; then one trial closes it or opens it again. A new
 * breaker is open and due: nothing is trusted before its first trial.
 */
export class CircuitBreaker {
  readonly #nowMs: () => number;
  readonly #random: () => number;
  #state: BreakerState = 'open';
  #waitMs = FIRST_WAIT_MS;
  #dueAtMs = Number.NEGATIVE_INFINITY;
  #closedAtMs = Number.POSITIVE_INFINITY;

  constructor({ nowMs, random }: { nowMs: () => number; random: () => number }) {
    this.#nowMs = nowMs;
    this.#random = random;
  }

  get state(): BreakerState {
    return this.#state;
  }

  /** Whether a trial may begin. */
  get isDue(): boolean {
    return this.#state === 'open' && this.#nowMs() >= this.#dueAtMs;
  }

  /**
   * Opens it, whatever it was; while it is open that changes nothing. An engine that is away is waited for 1 s and no longer
   * each time: whether it is back is seen without a trial.
   */
  open({ isAway = false }: { isAway?: boolean } = {}): void {
    if (this.#state === 'open') return;
    if (this.#nowMs() - this.#closedAtMs >= TRUSTED_AFTER_MS) this.#waitMs = FIRST_WAIT_MS;
    this.#state = 'open';
    this.#closedAtMs = Number.POSITIVE_INFINITY;
    const waitMs = isAway ? FIRST_WAIT_MS : this.#waitMs;
    this.#dueAtMs = this.#nowMs() + waitMs * (0.8 + 0.4 * this.#random());
    if (!isAway) this.#waitMs = Math.min(2 * this.#waitMs, LONGEST_WAIT_MS);
  }

  /** Begins the trial: true for one caller only, once it is due. */
  beginTrial(): boolean {
    if (!this.isDue) return false;
    this.#state = 'half_open';
    return true;
  }

  /** Ends the trial. Means nothing when the breaker was opened meanwhile. */
  endTrial(hasPassed: boolean): void {
    if (this.#state !== 'half_open') return;
    if (!hasPassed) {
      this.open();
      return;
    }
    this.#state = 'closed';
    this.#closedAtMs = this.#nowMs();
  }
}
