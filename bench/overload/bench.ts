import type { Bench } from '../bench.ts';
import { single } from '../figure.ts';
import { percentile } from '../median.ts';
import { measureRefusal } from './measureRefusal.ts';
import { type Outcome, runOverload } from './runOverload.ts';
import { makeArrivals, type Phase } from './workload.ts';

/** A client that has no token by then is gone, and what is produced for it is no good. */
const PATIENCE_MS = 10_000;
/** Calls a second that are tried for the most that the engines can do. */
const RATES = [16, 20, 24];
const LONG_RATES = [12, 14, 16, 18, 20, 22, 24];
const OVERLOAD = 3;
/** Load of the flooding key, if there is one. The others together send less than the engines can do. */
const FLOOD = 2.6;
const WARM_UP_MS = 20_000;
const MEASURED_MS = 30_000;
const LONG_MEASURED_MS = 60_000;
/** Load after the overload has ended, as part of what the engines can do. */
const CALM = 0.5;
/** A call that waits longer for its first token notices the overload. */
const CALM_FIRST_TOKEN_MS = 1_000;

/** Virtual time: the product's queue and placement, and the engines of the simulator. Equal seeds give equal figures, but for ms. */
export const bench: Bench = {
  measures: 'what becomes of calls when three times as many come as two engines can serve',
  async run({ seed, isLong, progress }) {
    const measuredMs = isLong ? LONG_MEASURED_MS : MEASURED_MS;
    const endMs = WARM_UP_MS + measuredMs;
    const { inTime, goodputOf, recoverySeconds, describe } = readersUntil(endMs);
    const run = (phases: Phase[], untilMs = endMs, isQueued = true) =>
      runOverload(makeArrivals(phases, untilMs, seed), { isQueued });
    const steady = (flood: number, light: number) => [{ fromMs: 0, floodRate: flood, lightRate: light }];

    /** Tokens and calls a second that the engines can do. */
    let peak = 0;
    let capacity = 0;
    say(toRow('all keys alike', ['calls/s', 'goodput', 'TTFT p50', 'p99', 'turned away']));
    for (const rate of isLong ? LONG_RATES : RATES) {
      progress(`${rate} calls/s`);
      const outcomes = await run(steady(0, rate));
      const goodput = goodputOf(outcomes);
      if (goodput > peak) [peak, capacity] = [goodput, inTime(outcomes).length / (measuredMs / 1_000)];
      say(describe('', rate, outcomes));
    }
    progress('overload');
    const over = await run(steady(0, OVERLOAD * capacity));
    say(describe('overload', OVERLOAD * capacity, over));
    if (isLong) {
      const unqueued = await run(steady(0, OVERLOAD * capacity), endMs, false);
      say(describe('without a queue', OVERLOAD * capacity, unqueued));
    }

    progress('one key floods');
    const light = (OVERLOAD - FLOOD) * capacity;
    const flooded = await run(steady(FLOOD * capacity, light));
    say(describe('one key floods', OVERLOAD * capacity, flooded));
    const ofOthers = flooded.filter(({ isFlood }) => !isFlood);
    say(describe('  the others', light, ofOthers));

    progress('recovery');
    const phases = [
      { fromMs: 0, floodRate: 0, lightRate: OVERLOAD * capacity },
      { fromMs: endMs, floodRate: 0, lightRate: CALM * capacity },
    ];
    const recovered = await run(phases, endMs + measuredMs);
    const sheds = over.flatMap(({ shedMs }) => shedMs ?? []).sort((a, b) => a - b);

    const firstTokenS = percentile(firstTokens(ofOthers), 0.99) / 1_000;
    return [
      single('goodput in overload ÷ the highest', goodputOf(over) / peak, { atLeast: 0.9 }),
      single('part of the others’ calls that are answered while one key floods', answered(ofOthers), { atLeast: 1 }),
      single('p99 of their TTFT', firstTokenS, { unit: 's', atMost: 3 }),
      single('until no call notices any more that there was an overload', recoverySeconds(recovered), {
        unit: 's',
        atMost: 10,
      }),
      single('virtual time to turn a call away in overload, p99', percentile(sheds, 0.99), { unit: 'ms', atMost: 50 }),
      single('real time to turn a call away with a full queue, p99', measureRefusal(), { unit: 'ms', atMost: 50 }),
    ];
  },
};

/** Reads of a run that is measured until then. */
function readersUntil(endMs: number) {
  /** Calls that ended while it was measured, and whose answer had begun before the client was gone. */
  const inTime = (outcomes: readonly Outcome[]): Outcome[] =>
    outcomes.filter(({ atMs, firstTokenMs = Number.POSITIVE_INFINITY, wholeMs = Number.POSITIVE_INFINITY }) => {
      const endedMs = atMs + wholeMs;
      return firstTokenMs <= PATIENCE_MS && endedMs >= WARM_UP_MS && endedMs < endMs;
    });
  /** Tokens a second of their answers. */
  const goodputOf = (outcomes: readonly Outcome[]): number =>
    inTime(outcomes).reduce((tokens, { call }) => tokens + call.answer.length, 0) / ((endMs - WARM_UP_MS) / 1_000);
  /** From the end of the overload to the last call that was turned away or had to wait. */
  const recoverySeconds = (outcomes: readonly Outcome[]): number => {
    const disturbed = outcomes.filter(
      ({ firstTokenMs, shedMs }) => shedMs !== undefined || (firstTokenMs ?? 0) > CALM_FIRST_TOKEN_MS,
    );
    return Math.max(0, (disturbed.at(-1)?.atMs ?? 0) - endMs) / 1_000;
  };
  const describe = (name: string, rate: number, outcomes: readonly Outcome[]): string => {
    const waits = firstTokens(outcomes);
    return toRow(name, [
      rate.toFixed(1),
      `${goodputOf(outcomes).toFixed(0)} tokens/s`,
      `${percentile(waits, 0.5).toFixed(0)} ms`,
      `${percentile(waits, 0.99).toFixed(0)} ms`,
      String(outcomes.filter(({ shedMs }) => shedMs !== undefined).length),
    ]);
  };
  return { inTime, goodputOf, recoverySeconds, describe };
}

const answered = (outcomes: readonly Outcome[]): number =>
  outcomes.filter(({ wholeMs }) => wholeMs !== undefined).length / outcomes.length;

const firstTokens = (outcomes: readonly Outcome[]): number[] =>
  outcomes.flatMap(({ atMs, firstTokenMs }) => (atMs >= WARM_UP_MS ? (firstTokenMs ?? []) : [])).sort((a, b) => a - b);

const toRow = (name: string, cells: string[]): string =>
  `${name.padEnd(18)}${cells.map((cell) => cell.padStart(16)).join('')}`;

const say = (line: string): void => void process.stdout.write(`${line === '' ? '' : `  ${line}`}\n`);
