import type { Engine } from '../engines/engine.ts';
import { type EngineErrorKind, isUntaken } from '../engines/terms/attemptResult.ts';
import type { RetryBudget } from '../health/retryBudget.ts';

/** Refused connections cost nothing, but a call is not sent around for ever. */
const MAX_REFUSALS = 4;

/**
 * Decides whether a call is tried again, and where. One retry, on another engine and out of the fleet's budget. Two things are
 * free: an engine that refused the connection took nothing; and once, a connection that broke before any answer was most
 * likely closing already, so the call goes even to the same engine where there is no other.
 */
export class NextAttempt {
  readonly #retries: RetryBudget;
  readonly #tried = new Set<Engine>();
  #resendTo: Engine | undefined;
  #refusals = 0;
  #hasResent = false;
  #hasRetried = false;

  constructor(retries: RetryBudget) {
    this.#retries = retries;
    retries.callBegan();
  }

  /** The engines that may have the next attempt. */
  chooseFrom(able: readonly Engine[]): readonly Engine[] {
    const untried = able.filter((engine) => !this.#tried.has(engine));
    return untried.length > 0 ? untried : able.filter((engine) => engine === this.#resendTo);
  }

  /** Whether the call may leave `engine`, which does not answer, for another of those that are able; its retry is then paid for. */
  mayLeave(engine: Engine, able: readonly Engine[]): boolean {
    return able.some((other) => other !== engine && !this.#tried.has(other)) && this.#takeRetry();
  }

  /** Whether another attempt may follow one on `engine` that failed; where it has to be paid for, it is. */
  mayFollow(engine: Engine, broken: EngineErrorKind | undefined): boolean {
    this.#tried.add(engine);
    this.#resendTo = undefined;
    if (broken === 'left_out') return true;
    if (isUntaken(broken)) {
      this.#refusals += 1;
      return this.#refusals < MAX_REFUSALS;
    }
    if (broken === 'unanswered' && !this.#hasResent) {
      this.#hasResent = true;
      this.#resendTo = engine;
      return true;
    }
    return this.#takeRetry();
  }

  #takeRetry(): boolean {
    if (this.#hasRetried || !this.#retries.take()) return false;
    this.#hasRetried = true;
    return true;
  }
}
