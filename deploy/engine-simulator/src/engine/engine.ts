import type { EngineConfig } from '../config.ts';
import type { Fault } from '../faults/fault.ts';
import type { Knobs } from '../knobs.ts';
import type { Clock } from './clock.ts';
import type { EngineMetrics } from './engineMetrics.ts';
import { Scheduler } from './scheduler.ts';
import type { Sequence } from './sequence.ts';

const DEATH: Fault = { kind: 'engine_dies', afterTokens: 0 };

/** One engine from outside: one timer that wakes its scheduler, and the orders that hold, wake and kill it. */
export class Engine {
  readonly config: EngineConfig;
  readonly #clock: Clock;
  readonly #scheduler: Scheduler;
  #knobs: Knobs;
  #pausedAtMs: number | undefined;
  #isAsleep = false;
  #timer: { atMs: number; cancel: () => void } | undefined;

  constructor(config: EngineConfig, clock: Clock) {
    this.config = config;
    this.#clock = clock;
    this.#knobs = config.knobs;
    this.#scheduler = new Scheduler(config);
  }

  /** Since the start of the process that is simulated. */
  get metrics(): EngineMetrics {
    return this.#scheduler.metrics;
  }

  /** Called when a fault kills the engine. */
  set onDeath(onDeath: () => void) {
    this.#scheduler.onDeath = onDeath;
  }

  get runningCount(): number {
    return this.#scheduler.queue.running.size;
  }

  get waitingCount(): number {
    return this.#scheduler.queue.waitingCount;
  }

  /** Part of the key-value cache that live sequences hold, 0 to 1. */
  get kvCacheUsage(): number {
    return this.#scheduler.kvCache.usage;
  }

  get isAsleep(): boolean {
    return this.#isAsleep;
  }

  get knobs(): Readonly<Knobs> {
    return this.#knobs;
  }

  /** Changes timing, capacity and manners from the next token on. */
  configure(knobs: Partial<Knobs>): void {
    const nowMs = this.#clock.nowMs();
    this.#knobs = { ...this.#knobs, ...knobs };
    this.#scheduler.configure(this.#knobs, nowMs);
    this.#wakeAt(nowMs);
  }

  submit(sequence: Sequence): void {
    const nowMs = this.#clock.nowMs();
    sequence.schedule.arrivedMs = nowMs;
    this.#scheduler.queue.add(sequence);
    this.#wakeAt(nowMs);
  }

  /** Removes a sequence at once, in any state. An ended one is unchanged. */
  abort(sequence: Sequence): void {
    if (sequence.hasEnded) return;
    sequence.abort();
    this.#end(sequence);
  }

  /** Holds all generation: requests are accepted and wait. */
  pause(): void {
    this.#pausedAtMs ??= this.#clock.nowMs();
  }

  /** Goes on where `pause` held, as if no time had passed. */
  resume(): void {
    if (this.#pausedAtMs === undefined) return;
    const nowMs = this.#clock.nowMs();
    this.#scheduler.postpone(nowMs - this.#pausedAtMs);
    this.#pausedAtMs = undefined;
    this.#wakeAt(nowMs);
  }

  /** Aborts everything and forgets the caches; until `wake` requests are accepted and wait. */
  sleep(): void {
    this.#isAsleep = true;
    for (const sequence of this.#scheduler.queue.all()) {
      if (sequence.hasEnded) continue;
      this.abort(sequence);
      sequence.onProgress();
    }
    this.#scheduler.kvCache.clear();
  }

  wake(): void {
    this.#isAsleep = false;
    this.#wakeAt(this.#clock.nowMs());
  }

  /** Fails everything that runs or waits, as when the engine's own process is gone. */
  die(): void {
    for (const sequence of this.#scheduler.queue.all()) {
      if (sequence.hasEnded) continue;
      sequence.fail(DEATH);
      this.#end(sequence);
      sequence.onProgress();
    }
  }

  /** Resets counters and caches, like a new process. */
  restart(): void {
    this.die();
    this.#scheduler.reset();
  }

  /** Stops the timer for good. */
  close(): void {
    this.#timer?.cancel();
    this.#pausedAtMs = 0;
  }

  #onWake(): void {
    this.#timer = undefined;
    if (this.#pausedAtMs !== undefined || this.#isAsleep) return;
    const nextMs = this.#scheduler.run(this.#clock.nowMs());
    if (nextMs < Number.POSITIVE_INFINITY) this.#wakeAt(nextMs);
  }

  /** Sequences that wait may have a place now. */
  #end(sequence: Sequence): void {
    this.#scheduler.end(sequence);
    if (this.waitingCount > 0) this.#wakeAt(this.#clock.nowMs());
  }

  #wakeAt(atMs: number): void {
    if (this.#timer && this.#timer.atMs <= atMs) return;
    this.#timer?.cancel();
    const cancel = this.#clock.wakeAfter(Math.max(0, atMs - this.#clock.nowMs()), () => this.#onWake());
    this.#timer = { atMs, cancel };
  }
}
