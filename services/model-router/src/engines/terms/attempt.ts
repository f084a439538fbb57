import type { EngineFault } from '../../api/inferenceFault.ts';

/** One engine as a choice sees it. */
export interface Candidate {
  readonly id: string;
  /** Capacity beside the others': 2 serves twice as much as 1. */
  readonly weight: number;
  /** Tokens of work that wait or run there, as an engine of weight 1 would feel them. */
  readonly loadTokens: number;
  /** Leading tokens of this prompt that it need not compute. */
  readonly cachedTokens: number;
}

/**
 * Why a call goes to an engine.
 * - `only`: there is no other.
 * - `rendezvous`: no engine has any of the prompt, and its hash names this one.
 * - `match`: it has a part of the prompt, and least work is ahead of the first token there.
 * - `least_load`: least work is ahead there, though nothing of the prompt is cached.
 * - `spill`: where a new prompt belongs is so much busier that the idlest gets it.
 */
export type ChoiceReason = 'only' | 'rendezvous' | 'match' | 'least_load' | 'spill';

/** Why a call went where it did: all that the choice was made by. */
export interface Decision {
  readonly reason: ChoiceReason;
  readonly chosen: Candidate;
  /** Every engine that was compared. */
  readonly candidates: readonly Candidate[];
  /** What the prompt was expected to come to. */
  readonly promptTokens: number;
}

/**
 * Why an exchange with an engine broke off.
 * - `refused`: nobody listens there, so the engine took nothing.
 * - `unreached`: no connection stood in time, so the engine took nothing either. That may be this router's own trouble.
 * - `unanswered`: the connection broke within a second and before any answer, as one does that the engine was just closing.
 * - `reset`: it broke later.
 * - `timeout`: nothing came in time.
 * - `left_out`: nothing had come yet when the engine was found not to answer, so the call left it.
 */
export type EngineErrorKind = 'refused' | 'unreached' | 'unanswered' | 'reset' | 'timeout' | 'left_out';

/** An engine's count of a whole call. */
export interface CountedCall {
  promptTokens: number;
  cachedPromptTokens: number;
  completionTokens: number;
}

/** How an attempt failed. */
export interface AttemptFailure {
  fault: EngineFault;
  /** What the exchange broke off with, where the engine did not answer: it may be unwell. */
  broken: EngineErrorKind | undefined;
  /** The call is over for a reason of its own. */
  isFinal: boolean;
}

/** What an attempt came to, as far as it concerns its engine. */
export type AttemptResult =
  /** The engine answered to the end; `counted` is its own count, where it gave one. */
  | { kind: 'answered'; counted: CountedCall | undefined }
  | ({ kind: 'failed' } & AttemptFailure)
  /** We ended it, as the client left, the hold was lost, or `isError`: by a mistake of ours. It says nothing of the engine. */
  | { kind: 'dropped'; isError: boolean };

/** Whether the engine took nothing of the call: the fleet lacks capacity then, and a retry is safe. */
export const isUntaken = (broken: EngineErrorKind | undefined): boolean =>
  broken === 'refused' || broken === 'unreached';

/** Hears how an attempt goes. Each of `firstEvent` and `end` is called once at most, and nothing after `end`. */
export interface AttemptObserver {
  /** The engine's first event is here: the prompt is computed. Whole answers have none. */
  firstEvent?(): void;
  end?(result: AttemptResult): void;
  /** The client does not read; `cut` ends the attempt as if it had left. */
  unread?(cut: () => void): void;
  /** The client reads on. */
  read?(): void;
}

/**
 * One attempt of a call on the engine it was placed on. Whoever exchanges bytes with the engine says what happens; load, room,
 * health, metrics and trace observe it, in the order in which they subscribed.
 */
export class Attempt<Engine> {
  readonly engine: Engine;
  /** Why it is this engine. */
  readonly decision: Decision;
  readonly #observers: AttemptObserver[] = [];
  #onLeave: (() => void) | undefined;
  #hasBegun = false;
  #isOver = false;

  constructor(engine: Engine, decision: Decision) {
    this.engine = engine;
    this.decision = decision;
  }

  /**
   * Has whoever exchanges bytes with the engine hear, perhaps again and again, that nothing was heard yet and the engine turns
   * out not to answer: another one will have the call.
   */
  onLeave(hear: () => void): void {
    this.#onLeave = hear;
  }

  leave(): void {
    this.#onLeave?.();
  }

  subscribe(observer: AttemptObserver): void {
    this.#observers.push(observer);
  }

  firstEvent(): void {
    if (this.#hasBegun || this.#isOver) return;
    this.#hasBegun = true;
    for (const observer of this.#observers) observer.firstEvent?.();
  }

  /** Later ends mean nothing. */
  end(result: AttemptResult): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const observer of this.#observers) observer.end?.(result);
  }

  unread(cut: () => void): void {
    if (this.#isOver) return;
    for (const observer of this.#observers) observer.unread?.(cut);
  }

  read(): void {
    if (this.#isOver) return;
    for (const observer of this.#observers) observer.read?.();
  }
}

/** Whether another engine might do better: a client's mistake stays one everywhere. */
export const isWorthRetrying = ({ kind }: EngineFault): boolean =>
  kind === 'engine_failed' || kind === 'engine_busy' || kind === 'no_healthy_engine';
