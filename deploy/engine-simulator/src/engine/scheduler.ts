import type { EngineConfig } from '../config.ts';
import type { Knobs } from '../knobs.ts';
import { type BatchStep, planBatchStep } from './batchStep.ts';
import { EngineMetrics } from './engineMetrics.ts';
import { KvCache } from './kvCache.ts';
import { RunQueue } from './runQueue.ts';
import type { Sequence } from './sequence.ts';

/** Tokens one sequence may make in one wake when time costs nothing, so that none holds the event loop for long. */
const MAX_TOKENS_PER_WAKE = 512;

/**
 * Gives every running sequence the tokens that are due, each time the engine wakes. At most `maxNumSeqs` run; the rest wait in
 * order of arrival. If the key-value cache is full, the youngest is preempted and computes its prompt again later. The scheduler
 * reads no clock.
 */
export class Scheduler {
  readonly queue = new RunQueue();
  readonly kvCache: KvCache;
  metrics = new EngineMetrics();
  /** Called when a fault kills the engine. */
  onDeath: () => void = () => {};
  #knobs: Knobs;
  #batchStep: BatchStep | undefined;

  constructor({ numKvBlocks, knobs }: Pick<EngineConfig, 'numKvBlocks' | 'knobs'>) {
    this.#knobs = knobs;
    this.kvCache = new KvCache(numKvBlocks);
  }

  /** Times and capacity from `nowMs` on. */
  configure(knobs: Knobs, nowMs: number): void {
    if (knobs.timeModel !== this.#knobs.timeModel) {
      this.#batchStep = undefined;
      for (const { schedule } of this.queue.running) schedule.dueMs = Math.max(schedule.dueMs, nowMs);
    }
    this.#knobs = knobs;
  }

  /** Gives everyone what is due at `nowMs`. Returns when something is due next, which may be never (`Infinity`). */
  run(nowMs: number): number {
    return this.#knobs.timeModel === 'batch' ? this.#runBatchSteps(nowMs) : this.#runEachAtItsPace(nowMs);
  }

  /** Puts off by `pausedMs` all that was due. */
  postpone(pausedMs: number): void {
    for (const { schedule } of this.queue.running) schedule.dueMs += pausedMs;
    if (this.#batchStep) this.#batchStep = { ...this.#batchStep, endsMs: this.#batchStep.endsMs + pausedMs };
  }

  /** Takes out a sequence that has ended. */
  end(sequence: Sequence): void {
    this.queue.remove(sequence);
    this.kvCache.release(sequence);
    this.kvCache.keepOutput(sequence);
    this.metrics.countEnd(sequence);
  }

  /** Clears counters and caches. No sequence may run or wait. */
  reset(): void {
    this.metrics = new EngineMetrics();
    this.kvCache.clear();
    this.#batchStep = undefined;
  }

  /** The constant model. Returns when something is due next. */
  #runEachAtItsPace(nowMs: number): number {
    this.#admit(nowMs, nowMs);
    let nextMs = Number.POSITIVE_INFINITY;
    for (const sequence of this.queue.running) {
      this.#advance(sequence, nowMs);
      if (!sequence.hasEnded) nextMs = Math.min(nextMs, sequence.schedule.dueMs);
    }
    return this.#findAdmissible() ? nowMs : nextMs;
  }

  /** The batch model: finishes the steps that have ended by now and begins the next. Returns when that ends. */
  #runBatchSteps(nowMs: number): number {
    for (let steps = 0; steps < MAX_TOKENS_PER_WAKE; steps += 1) {
      const step = this.#batchStep;
      if (step && step.endsMs > nowMs) return step.endsMs;
      if (step) this.#finishBatchStep(step);
      const startsMs = step?.endsMs ?? nowMs;
      this.#admit(startsMs, nowMs);
      this.#batchStep = planBatchStep(this.queue.running, this.#knobs, startsMs);
      if (!this.#batchStep && startsMs >= nowMs) {
        return Math.min(Number.POSITIVE_INFINITY, ...[...this.queue.running].map(({ schedule }) => schedule.dueMs));
      }
    }
    return nowMs;
  }

  #finishBatchStep({ endsMs, prefill }: BatchStep): void {
    for (const sequence of [...this.queue.running]) {
      const { schedule, options } = sequence;
      schedule.prefillLeft -= prefill.get(sequence) ?? 0;
      // Preempted by one before it in this very step, or arrived without any place in it.
      if (!this.queue.running.has(sequence) || schedule.prefillLeft > 0 || schedule.dueMs > endsMs) continue;
      const before = sequence.generated.length;
      schedule.dueMs = endsMs + (options.interTokenMs ?? 0);
      this.#generate(sequence);
      this.#settle(sequence, before);
    }
  }

  /** Starts the sequences with room that had arrived at `untilMs`. A late wake leaves `untilMs` behind `nowMs`. */
  #admit(untilMs: number, nowMs: number): void {
    for (let next = this.#findAdmissible(); next; next = this.#findAdmissible()) {
      if (next.schedule.arrivedMs > untilMs) return;
      this.queue.admit(next);
      this.#start(next, nowMs);
    }
  }

  #findAdmissible(): Sequence | undefined {
    return this.queue.findAdmissible(this.#knobs.maxNumSeqs, this.kvCache);
  }

  #start(sequence: Sequence, nowMs: number): void {
    const { options, schedule, generated } = sequence;
    const cachedTokens = this.kvCache.findPrefix(sequence);
    if (generated.length === 0) {
      sequence.cachedTokens = cachedTokens;
      this.metrics.countScheduled(sequence);
    }
    const { timeModel, timeToFirstTokenMs, slowFactor } = this.#knobs;
    // In the batch model the steps alone decide, unless the request names a time.
    const ownDueMs = timeModel === 'batch' ? 0 : nowMs + timeToFirstTokenMs * slowFactor;
    schedule.prefillLeft = options.promptTokens.length + generated.length - cachedTokens;
    schedule.dueMs = options.timeToFirstTokenMs === undefined ? ownDueMs : nowMs + options.timeToFirstTokenMs;
    this.kvCache.hold(sequence);
  }

  #advance(sequence: Sequence, nowMs: number): void {
    const { schedule, options, generated } = sequence;
    const stepMs = options.interTokenMs ?? this.#knobs.interTokenMs * this.#knobs.slowFactor;
    const before = generated.length;
    for (let made = 0; made < MAX_TOKENS_PER_WAKE && schedule.dueMs <= nowMs && !sequence.hasEnded; made += 1) {
      schedule.dueMs += stepMs;
      this.#generate(sequence);
    }
    this.#settle(sequence, before);
  }

  #generate(sequence: Sequence): void {
    const { schedule, generated } = sequence;
    const before = generated.length;
    sequence.generate();
    if (generated.length === before) return;
    this.metrics.countToken(sequence);
    if (generated.length > 1) return;
    schedule.prefillLeft = 0;
    this.kvCache.keepPrompt(sequence);
  }

  /** After a sequence that had `before` tokens got its turn. */
  #settle(sequence: Sequence, before: number): void {
    const hasGrown = sequence.generated.length > before;
    if (sequence.hasEnded) this.end(sequence);
    else if (hasGrown) this.#grow(sequence);
    if (sequence.hasEnded || hasGrown) sequence.onProgress();
    if (sequence.failure?.kind === 'engine_dies') this.onDeath();
  }

  /** Lets a sequence hold the blocks its new tokens need, at the cost of the youngest ones when there are none left. */
  #grow(sequence: Sequence): void {
    this.kvCache.hold(sequence);
    while (this.kvCache.isOverfull) {
      const youngest = this.queue.preemptYoungest();
      if (!youngest) return;
      this.kvCache.release(youngest);
      this.metrics.preemptions += 1;
    }
  }
}
