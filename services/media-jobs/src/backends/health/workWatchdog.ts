import { backoffMs } from '@turnpike/lifecycle/repeat';
import { FIRST_REST_MS, LONGEST_REST_MS } from '../limits.ts';

/**
 * Detects a replica that hangs while it answers its checks: it had work for some time and gave no output. Only time with
 * work of this process counts, so neither an idle replica nor a client that leaves early is a sign. One output, or
 * one refusal of a request, is proof that the replica works.
 */
export class WorkWatchdog {
  readonly #nowMs: () => number;
  #working = 0;
  #hungAfterMs = Number.POSITIVE_INFINITY;
  /** Time with work since the last output, until `#countedAtMs`. */
  #silentMs = 0;
  #countedAtMs = 0;
  /** Times that the replica ended all its work and hung, since the last output. */
  #rests = 0;
  #restsUntilMs = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  get isHung(): boolean {
    this.#count();
    return this.#silentMs >= this.#hungAfterMs;
  }

  /** Whether a replica that hangs may have one job, which shows whether it works again. */
  get isDue(): boolean {
    return this.#working === 0 && this.#nowMs() >= this.#restsUntilMs;
  }

  /** Notes that work begins, with the time without an output after which it hangs. */
  begin(hungAfterMs: number): void {
    this.#count();
    this.#working += 1;
    this.#hungAfterMs = hungAfterMs;
  }

  /** Notes that work has ended. */
  end({ hasAnswer }: { hasAnswer: boolean }): void {
    this.#count();
    this.#working -= 1;
    if (hasAnswer) this.reset();
    else if (this.#working === 0 && this.isHung) {
      this.#restsUntilMs =
        this.#nowMs() + backoffMs(this.#rests, { firstMs: FIRST_REST_MS, longestMs: LONGEST_REST_MS });
      this.#rests += 1;
    }
  }

  /** Forgets all signs, because the replica works or was started again. */
  reset(): void {
    this.#count();
    this.#silentMs = 0;
    this.#rests = 0;
    this.#restsUntilMs = 0;
  }

  #count(): void {
    const now = this.#nowMs();
    if (this.#working > 0) this.#silentMs += now - this.#countedAtMs;
    this.#countedAtMs = now;
  }
}
