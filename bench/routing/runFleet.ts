import { NextAttempt } from '../../services/model-router/src/answer/runOnEngines.ts';
import { RetryBudget } from '../../services/model-router/src/health/engineHealth.ts';
import type { Policy } from './policies.ts';
import type { SimulatedEngine, SlowDown } from './simulatedEngine.ts';
import { type Call, WARM_UP } from './workload.ts';

/** An engine that is killed should have a few calls that can still be saved. */
const MIN_CALLS_LOST = 3;
/** The router asks engines this often how many requests they have. */
const REPORT_MS = 2_000;

/** The result of a run. */
export interface RunResult {
  /** Times to first token of the measured calls, ms, shortest first. */
  firstTokenMs: number[];
  /** The same of all calls, those of the warm-up included. */
  wholeRunFirstTokenMs: number[];
  /** Times from arrival to the end of each call, ms a token of its answer, shortest first. */
  msPerToken: number[];
  /** Part of the measured prompt tokens that was read from caches. */
  hitRate: number;
  /** Tokens under way on the busiest engine, over time, beside the mean of all. */
  maxToMeanLoad: number;
  /** The run was given up: more calls were late than `isLateAfterMs` allows. */
  isGivenUp: boolean;
  /** Calls that an engine failed before it had brought a token, and those of them that were never answered. */
  retried: number;
  failed: number;
  /** Calls of the killed engine whose answer had begun: their clients get an error event. */
  cut: number;
}

export interface RunOptions {
  policy: (nowMs: () => number) => Policy;
  /** Measured calls a second. */
  rate: number;
  /** Gives up once more than one in a hundred measured calls waits longer. */
  isLateAfterMs?: number;
  /** Kills an engine that has calls of both kinds, with and without a token, after this part of the workload, 0 to 1. */
  killAfter?: number;
  /** Makes the last engine so many times slower after this part of the workload, 0 to 1. */
  slowDown?: SlowDown & { after: number };
}

/** A call on its way, from its arrival to its answer. */
interface Attempts {
  readonly call: Call;
  readonly arrivedMs: number;
  readonly next: NextAttempt;
  hasFailed: boolean;
}

/** Sends the workload to engines in virtual time. Every policy sees the same calls at the same moments. */
export function runFleet(calls: readonly Call[], engines: readonly SimulatedEngine[], options: RunOptions): RunResult {
  return new FleetRun(calls, engines, options).run();
}

class FleetRun {
  readonly #calls: readonly Call[];
  #engines: readonly SimulatedEngine[];
  readonly #options: RunOptions;
  readonly #place: Policy;
  readonly #durationMs: number;
  readonly #measured: number;
  readonly #firstTokenMs: number[] = [];
  readonly #warmUpFirstTokenMs: number[] = [];
  readonly #msPerToken: number[] = [];
  readonly #retries: RetryBudget;
  #reportedMs = Number.NEGATIVE_INFINITY;
  #isSlowedDown = false;
  #nowMs = 0;
  #late = 0;
  #promptTokens = 0;
  #cachedTokens = 0;
  #cut = 0;
  #retried = 0;
  #ofRetriedAnswered = 0;

  constructor(calls: readonly Call[], engines: readonly SimulatedEngine[], options: RunOptions) {
    this.#calls = calls;
    this.#engines = engines;
    for (const engine of engines) engine.nowMs = () => this.#nowMs;
    this.#options = options;
    this.#place = options.policy(() => this.#nowMs);
    this.#retries = new RetryBudget(() => this.#nowMs);
    this.#measured = calls.filter(({ at }) => at >= WARM_UP).length;
    this.#durationMs = (this.#measured / (1 - WARM_UP) / options.rate) * 1_000;
  }

  run(): RunResult {
    const { killAfter = Number.POSITIVE_INFINITY, isLateAfterMs } = this.#options;
    const engines = this.#engines;
    const areAllAlive = () => engines.every(({ isDead }) => !isDead);
    let next = 0;
    for (;;) {
      const call = this.#calls[next];
      const callMs = call ? call.at * this.#durationMs : Number.POSITIVE_INFINITY;
      if (callMs >= killAfter * this.#durationMs && areAllAlive()) this.#killBusy();
      const due = this.#engines.reduce((first, engine) => (engine.nextMs < first.nextMs ? engine : first));
      const untilMs = Math.min(callMs, due.nextMs);
      if (untilMs === Number.POSITIVE_INFINITY) break;
      if (call && this.#isMeasured(this.#nowMs)) for (const engine of engines) engine.addTime(untilMs - this.#nowMs);
      this.#nowMs = untilMs;
      if (call && callMs <= due.nextMs) {
        next += 1;
        this.#readReports();
        this.#slowDownLast(call);
        this.#send({ call, arrivedMs: callMs, next: new NextAttempt(this.#retries), hasFailed: false });
      } else due.run(untilMs);
      if (isLateAfterMs !== undefined && this.#late > this.#measured / 100) break;
    }
    const loads = engines.map(({ tokenMs }) => tokenMs);
    return {
      firstTokenMs: this.#firstTokenMs.toSorted((a, b) => a - b),
      wholeRunFirstTokenMs: [...this.#warmUpFirstTokenMs, ...this.#firstTokenMs].sort((a, b) => a - b),
      msPerToken: this.#msPerToken.toSorted((a, b) => a - b),
      hitRate: this.#cachedTokens / this.#promptTokens,
      maxToMeanLoad: (Math.max(...loads) * loads.length) / loads.reduce((sum, load) => sum + load, 0),
      isGivenUp: next < this.#calls.length,
      retried: this.#retried,
      failed: this.#retried - this.#ofRetriedAnswered,
      cut: this.#cut,
    };
  }

  #isMeasured(atMs: number): boolean {
    return atMs >= WARM_UP * this.#durationMs;
  }

  /** Places a call, and once more by the router's own rules where an engine fails it before its first token. */
  #send(attempts: Attempts): void {
    const { call, arrivedMs } = attempts;
    const placed = this.#place(call, attempts.next.chooseFrom(this.#engines) as SimulatedEngine[]);
    if (!placed) return;
    const { engine } = placed;
    const failed = (broken: 'refused' | 'reset'): void => {
      if (!attempts.hasFailed) this.#retried += 1;
      attempts.hasFailed = true;
      if (attempts.next.mayFollow(engine, broken)) this.#send(attempts);
    };
    if (engine.isDead) {
      // The first connection that is refused is enough for the router.
      this.#engines = this.#engines.filter((other) => other !== engine);
      placed.end({ kind: 'left_midway' });
      failed('refused');
      return;
    }
    let hasBegun = false;
    engine.submit(call, this.#nowMs, {
      onFirstToken: () => {
        hasBegun = true;
        placed.firstEvent();
        this.#measure(this.#nowMs - arrivedMs, arrivedMs);
      },
      onEnd: ({ cachedTokens, completionTokens }) => {
        const promptTokens = call.promptTokens.length;
        placed.end({ kind: 'whole', usage: { promptTokens, cachedPromptTokens: cachedTokens, completionTokens } });
        this.#msPerToken.push((this.#nowMs - arrivedMs) / completionTokens);
        if (attempts.hasFailed) this.#ofRetriedAnswered += 1;
        if (!this.#isMeasured(arrivedMs)) return;
        this.#promptTokens += promptTokens;
        this.#cachedTokens += cachedTokens;
      },
      onKilled: () => {
        placed.end({ kind: 'left_midway' });
        if (hasBegun) this.#cut += 1;
        else failed('reset');
      },
    });
  }

  #measure(firstTokenMs: number, arrivedMs: number): void {
    if (!this.#isMeasured(arrivedMs)) {
      this.#warmUpFirstTokenMs.push(firstTokenMs);
      return;
    }
    this.#firstTokenMs.push(firstTokenMs);
    if (firstTokenMs > (this.#options.isLateAfterMs ?? Number.POSITIVE_INFINITY)) this.#late += 1;
  }

  #readReports(): void {
    if (this.#nowMs - this.#reportedMs < REPORT_MS) return;
    this.#reportedMs = this.#nowMs;
    for (const engine of this.#engines) engine.say(this.#nowMs);
  }

  #slowDownLast({ at }: Call): void {
    const { slowDown } = this.#options;
    if (!slowDown || at < slowDown.after || this.#isSlowedDown) return;
    this.#isSlowedDown = true;
    this.#engines.at(-1)?.slowDown(slowDown, this.#nowMs);
  }

  #killBusy(): void {
    this.#engines.find((engine) => engine.callsWithoutToken >= MIN_CALLS_LOST)?.kill();
  }
}
