import { EventQueue, type QueuedEvent } from './eventQueue.ts';
import { createRandom, type Random } from './random.ts';
import { Violation } from './violation.ts';

/** Taken before the clock is installed. Between two of its callbacks, every promise that can go on does. */
const realSetImmediate = setImmediate;
/** So many callbacks are asked for at a time: before the next ones Node looks for input, of which a world has none. */
const CALLBACKS_PER_TURN = 100;

/** A process of the simulated stack. What it had under way when it died never goes on. */
export interface SimulatedProcess {
  readonly name: string;
  isDead: boolean;
  /** Stopped, as by SIGSTOP, until then. */
  frozenUntil: number;
  /** How long its monotonic clock has stood still, ms, as that of a paused virtual machine does. */
  stoodStillMs: number;
  /** How far its wall clock is off, ms. It may be set. */
  skewMs: number;
  readonly startedAt: number;
}

const TRACE_STEPS = 140;
/** Sums of instants are off by less. */
const ROUNDING_MS = 1e-6;

/**
 * A world with one clock and one order of events, both drawn from a seed. An event runs, and all that it sets free, before
 * the next one does; timers and answers belong to the process that asked for them.
 */
export class World {
  readonly seed: number;
  readonly random: Random;
  /** Wall clock at the beginning, ms since 1970. */
  readonly beganAtMs: number;
  now = 0;
  /** The process of everything else, which never dies. */
  readonly own: SimulatedProcess;
  current: SimulatedProcess;
  /** Checked after every event. */
  onStep: () => void = () => {};
  readonly #queue = new EventQueue();
  readonly #trace: string[] = [];
  #order = 0;
  #violation: unknown;

  constructor(seed: number) {
    this.seed = seed;
    this.random = createRandom(seed);
    // Every other world lives through the turn of a month, most of them while calls run.
    const turn = Date.UTC(2026, 10, 1);
    this.beganAtMs = turn - this.random.between(0, 12_000) + (seed % 2) * 86_400_000;
    this.own = this.spawn('world');
    this.current = this.own;
  }

  spawn(name: string, skewMs = 0): SimulatedProcess {
    return { name, isDead: false, frozenUntil: 0, stoodStillMs: 0, skewMs, startedAt: this.now };
  }

  /** Wall clock of a process, ms. */
  wallClockMs(process: SimulatedProcess = this.current): number {
    return this.beganAtMs + this.now + process.skewMs;
  }

  /** Monotonic clock of a process, ms. */
  clockMs(process: SimulatedProcess = this.current): number {
    return this.now - process.stoodStillMs;
  }

  /** Looks at something of a process by that process' clocks. */
  lookAs<Result>(process: SimulatedProcess, look: () => Result): Result {
    const { current } = this;
    this.current = process;
    try {
      return look();
    } finally {
      this.current = current;
    }
  }

  /** Schedules a timer: time in which the clock of its process stands still does not count. */
  scheduleTimer(delayMs: number, run: () => void, owner: SimulatedProcess = this.current): QueuedEvent {
    return this.schedule(delayMs, run, owner, this.clockMs(owner) + Math.max(delayMs, 0));
  }

  schedule(
    delayMs: number,
    run: () => void,
    owner: SimulatedProcess = this.current,
    dueAtMs = Number.NEGATIVE_INFINITY,
  ): QueuedEvent {
    const event: QueuedEvent = {
      at: this.now + Math.max(delayMs, 0),
      order: this.#order++,
      isCancelled: false,
      run: () => {
        if (owner.isDead) return;
        if (owner.frozenUntil > this.now) {
          event.at = owner.frozenUntil;
          event.order = this.#order++;
          this.#queue.push(event);
          return;
        }
        const leftMs = dueAtMs - this.clockMs(owner);
        if (leftMs > ROUNDING_MS) {
          event.at = this.now + leftMs;
          event.order = this.#order++;
          this.#queue.push(event);
          return;
        }
        this.current = owner;
        run();
      },
    };
    this.#queue.push(event);
    return event;
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.schedule(delayMs, resolve));
  }

  /** Notes a step of the trace. */
  note(what: string): void {
    this.#trace.push(`${(this.now / 1_000).toFixed(4).padStart(9)} s  ${this.current.name.padEnd(10)} ${what}`);
    if (this.#trace.length > 2 * TRACE_STEPS) this.#trace.splice(0, TRACE_STEPS);
  }

  get trace(): string[] {
    return this.#trace.slice(-TRACE_STEPS);
  }

  /** Says that something happened that must not: the run ends. */
  fail(violation: unknown): void {
    this.#violation ??= violation;
  }

  /** Runs until `work`, which lives in this world, has ended. Throws what it threw, or the first violation. */
  async run(work: () => Promise<void>, limitMs: number): Promise<void> {
    let isOver = false;
    this.schedule(0, () => {
      work().then(
        () => {
          isOver = true;
        },
        (error: unknown) => this.fail(error),
      );
    });
    await new Promise<void>((resolve, reject) => {
      let hasEnded = false;
      const end = (settle: () => void): void => {
        hasEnded = true;
        settle();
      };
      const step = (): void => {
        if (hasEnded) return;
        try {
          this.onStep();
          if (this.#violation !== undefined) throw this.#violation;
          if (isOver) end(resolve);
          else this.#runNext(limitMs);
        } catch (error) {
          end(() => reject(error));
        }
      };
      const turn = (): void => {
        if (hasEnded) return;
        for (let nth = 0; nth < CALLBACKS_PER_TURN; nth += 1) realSetImmediate(step);
        realSetImmediate(turn);
      };
      turn();
    });
  }

  /** Runs the next event. */
  #runNext(limitMs: number): void {
    for (;;) {
      const event = this.#queue.pop();
      if (!event) throw new Violation('quiet', 'nothing will ever happen again, and the run is not over');
      if (event.isCancelled) continue;
      if (event.at > limitMs) throw new Violation('quiet', `the run is not over after ${limitMs / 1_000} s`);
      this.now = event.at;
      event.run();
      return;
    }
  }
}
