import type { Engine, UnheardCall } from '../engines/engine.ts';
import type { LoadedCall } from '../engines/engineLoad.ts';
import type { AttemptResult } from '../engines/terms/attemptResult.ts';
import type { Decision } from './chooseEngine.ts';
import type { Placement, QueueableCall } from './queueableCall.ts';

/** The exchange of bytes with the engine of an attempt. */
export interface AttemptExchange {
  /** Ends it, perhaps again and again: its engine turned out not to answer, and another one will have the call. */
  leftOut(): void;
  /** Ends it as if its client had left: other calls wait for the room of a stream that is not read. */
  cutUnread(): void;
}

/** The trace and the metrics of an attempt. */
export interface AttemptTrace {
  firstEvent(): void;
  end(result: AttemptResult): void;
}

/** The queue that placed an attempt. */
export interface AttemptQueue {
  /** Lets a waiting call have the room that may be there now. */
  startNext(): void;
  ended(attempt: Attempt): void;
  unread(attempt: Attempt): void;
  read(attempt: Attempt): void;
}

interface AttemptParts {
  placer: { learn(placement: Placement, result: AttemptResult): void };
  loaded: LoadedCall;
}

/**
 * One attempt of a call on the engine it was placed on. Each event that its exchange reports goes to load, habits, room, health,
 * queue and trace, in the order of the lines below.
 */
export class Attempt implements UnheardCall {
  readonly engine: Engine;
  readonly decision: Decision;
  readonly placement: Placement;
  exchange: AttemptExchange | undefined;
  trace: AttemptTrace | undefined;
  readonly #placer: AttemptParts['placer'];
  readonly #loaded: LoadedCall;
  /** The queue that placed it, and its call there. */
  #turn: { queue: AttemptQueue; call: QueueableCall; heard: () => void } | undefined;
  #hasBegun = false;
  #isUnread = false;
  #isOver = false;

  /** Counts the call in its engine's load until `end`. */
  constructor(decision: Decision & { engine: Engine }, placement: Placement, { placer, loaded }: AttemptParts) {
    this.engine = decision.engine;
    this.decision = decision;
    this.placement = placement;
    this.#placer = placer;
    this.#loaded = loaded;
  }

  get isStream(): boolean {
    return this.placement.isStream;
  }

  get keyId(): string {
    return this.placement.keyId;
  }

  /** Joins it to the queue that placed it. */
  joinQueue(queue: AttemptQueue, call: QueueableCall): void {
    this.#turn = { queue, call, heard: this.engine.unheardCalls.add(this) };
  }

  /** The engine's first event is here: the prompt is computed. Whole answers have none. */
  firstEvent(): void {
    if (this.#hasBegun || this.#isOver) return;
    this.#hasBegun = true;
    this.engine.load.firstEvent(this.#loaded);
    this.#turn?.heard();
    this.engine.room.sayBegun();
    this.#turn?.queue.startNext();
    this.trace?.firstEvent();
  }

  /** Ends the attempt, once; later ends mean nothing. */
  end(result: AttemptResult): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.engine.load.end(this.#loaded, result);
    this.#placer.learn(this.placement, result);
    this.#turn?.heard();
    if (result.kind === 'answered') this.engine.room.sayBegun();
    if (result.kind === 'failed' && result.fault.kind === 'engine_busy') this.engine.room.sayBusy();
    this.#turn?.call.report(this.engine, result);
    this.#turn?.queue.ended(this);
    this.trace?.end(result);
  }

  /** Takes the call to another engine, if it may go, because this one turned out not to answer. */
  leave(): void {
    if (this.#turn?.call.mayLeave(this.engine)) this.exchange?.leftOut();
  }

  /** The client does not read: its stream may be cut where other calls wait. */
  unread(): void {
    if (this.#isOver || this.#isUnread) return;
    this.#isUnread = true;
    this.#turn?.queue.unread(this);
  }

  /** The client reads on. */
  read(): void {
    if (this.#isOver || !this.#isUnread) return;
    this.#isUnread = false;
    this.#turn?.queue.read(this);
  }

  cutUnread(): void {
    this.exchange?.cutUnread();
  }
}
