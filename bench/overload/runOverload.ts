import { EventEmitter } from 'node:events';
import { mock } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createInferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import { EngineQueue } from '../../services/model-router/src/placement/engineQueue.ts';
import type { Attempt } from '../../services/model-router/src/placement/placer.ts';
import { Placer } from '../../services/model-router/src/placement/placer.ts';
import { SimulatedEngine } from '../routing/simulatedEngine.ts';
import { seededRandom } from '../seededRandom.ts';
import type { Arrival } from './workload.ts';

const ENGINES = 2;
/** The router asks its engines this often how many requests they have. */
const REPORT_MS = 2_000;
const MODEL = 'model';
const MAX_OUTPUT_TOKENS = 2_048;
/** The router's limits by default. */
const LIMITS = {
  maxCalls: 1_000,
  maxBytes: 134_217_728,
  keyShare: 0.25,
  engineKeyShare: 0.75,
  timeoutMs: 20_000,
  expectedWaitMs: 3_000,
};

/** The outcome of a call: times from its arrival, ms, of each thing that happened. */
export interface Outcome extends Arrival {
  firstTokenMs?: number;
  wholeMs?: number;
  /** The call was refused. */
  shedMs?: number;
}

/**
 * Sends calls to two engines of the simulator in virtual time, through the router's own queue and placement. Without
 * `isQueued` calls go straight to the engine that placement chooses.
 */
export async function runOverload(
  arrivals: readonly Arrival[],
  { isQueued = true }: { isQueued?: boolean } = {},
): Promise<Outcome[]> {
  mock.timers.enable({ apis: ['setInterval'] });
  try {
    return await new OverloadRun(arrivals, isQueued).run();
  } finally {
    mock.timers.reset();
  }
}

class OverloadRun {
  readonly #arrivals: readonly Arrival[];
  readonly #outcomes: Outcome[] = [];
  readonly #placer: Placer;
  readonly #queue: EngineQueue | undefined;
  readonly #engines: SimulatedEngine[];
  #nowMs = 0;

  constructor(arrivals: readonly Arrival[], isQueued: boolean) {
    this.#arrivals = arrivals;
    const nowMs = (): number => this.#nowMs;
    this.#placer = new Placer({ nowMs, random: seededRandom(1) });
    const metrics = createInferenceMetrics(noTelemetry.meter);
    if (isQueued) this.#queue = new EngineQueue({ placer: this.#placer, limits: LIMITS, metrics, nowMs });
    this.#engines = Array.from({ length: ENGINES }, (_, index) => {
      const engine = new SimulatedEngine(`engine-${index + 1}`);
      engine.nowMs = nowMs;
      return engine;
    });
    this.#report();
  }

  async run(): Promise<Outcome[]> {
    let next = 0;
    let reportMs = REPORT_MS;
    for (;;) {
      const arrival = this.#arrivals[next];
      const due = this.#engines.reduce((a, b) => (b.nextMs < a.nextMs ? b : a));
      if (!arrival && due.nextMs === Number.POSITIVE_INFINITY) return this.#outcomes;
      const arrivalMs = arrival?.atMs ?? Number.POSITIVE_INFINITY;
      const untilMs = Math.min(arrivalMs, due.nextMs, reportMs);
      mock.timers.tick(Math.floor(untilMs) - Math.floor(this.#nowMs));
      this.#nowMs = untilMs;
      if (untilMs === reportMs) {
        reportMs += REPORT_MS;
        this.#report();
      } else if (untilMs === arrivalMs && arrival) {
        next += 1;
        this.#arrive(arrival);
      } else due.run(untilMs);
      // A call whose turn has come takes it now.
      await setImmediate();
    }
  }

  #report(): void {
    for (const engine of this.#engines) engine.say(this.#nowMs);
  }

  #arrive(arrival: Arrival): void {
    const { keyId, call } = arrival;
    const outcome: Outcome = { ...arrival };
    this.#outcomes.push(outcome);
    const placement = { modelId: MODEL, keyId, maxOutputTokens: MAX_OUTPUT_TOKENS, isStream: true, ...call };
    if (!this.#queue) {
      const placed = this.#placer.place(this.#engines, placement);
      if (placed) this.#submit(placed, outcome);
      return;
    }
    const bytes = call.promptBytes;
    try {
      this.#queue.checkRoom({ modelId: MODEL, keyId, bytes });
    } catch {
      outcome.shedMs = 0;
      return;
    }
    const res = Object.assign(new EventEmitter(), { destroyed: false });
    const asks = { findEngines: () => this.#engines, mayLeave: () => false, report() {} };
    void this.#queue.place({ placement, bytes, res, ...asks }).then((turn) => {
      if (turn.kind === 'placed') this.#submit(turn.attempt, outcome);
      else outcome.shedMs = this.#nowMs - arrival.atMs;
    });
  }

  #submit(placed: Attempt, outcome: Outcome): void {
    const { call, atMs } = outcome;
    (placed.engine as SimulatedEngine).submit(call, this.#nowMs, {
      onFirstToken: () => {
        placed.firstEvent();
        outcome.firstTokenMs = this.#nowMs - atMs;
      },
      onEnd: ({ cachedTokens, completionTokens }) => {
        const counted = { promptTokens: call.promptTokens.length, cachedPromptTokens: cachedTokens, completionTokens };
        placed.end({ kind: 'whole', usage: counted });
        outcome.wholeMs = this.#nowMs - atMs;
      },
      onKilled() {},
    });
  }
}
