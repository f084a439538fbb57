import type { Bench } from '../bench.ts';
import type { Figure } from '../figure.ts';
import { percentile } from '../median.ts';
import { findHighestRate, someEngines } from './findHighestRate.ts';
import { measureDecision } from './measureDecision.ts';
import { POLICIES, type PolicyName } from './policies.ts';
import { type RunOptions, type RunResult, runFleet } from './runFleet.ts';
import type { SimulatedEngine } from './simulatedEngine.ts';
import { type Call, makeWorkload } from './workload.ts';

/** The p99 of time to first token that every policy has to keep. */
const MAX_FIRST_TOKEN_MS = 750;
/** Part of the highest rate at which three engines of four are still enough. */
const EASY = 0.6;
/** Part of it at which calls wait here and there. */
const HARD = 0.75;
/** The factor that is left otherwise. */
const EASIER = 0.9;
const SLOW_FACTOR = 10;
/** When an engine turns slow, as part of the workload's duration. */
const SLOW_AFTER = 0.7;
/** When one engine is killed, as part of the workload's duration. */
const KILL_AFTER = 0.6;

/** Virtual time: the product's placement and retries, and the engines of the simulator. Equal seeds give equal figures, but for µs. */
export const bench: Bench = {
  measures: 'calls/s that four engines carry at equal time to first token (TTFT), by who places the calls',
  async run({ seed, progress }) {
    progress('making the workload');
    const calls = makeWorkload(seed);
    const tokens = calls.reduce((sum, { promptTokens }) => sum + promptTokens.length, 0) / calls.length;
    say(`${calls.length} calls of ${tokens.toFixed(0)} prompt tokens on average; the highest rate with a p99 of TTFT`);
    say(`within ${MAX_FIRST_TOKEN_MS} ms; hits are prompt tokens read from caches\n`);
    say(toRow('', ['calls/s', 'hits', 'TTFT p50', 'p99', 'max/mean load']));
    const rates = new Map<PolicyName, number>();
    let busiest = Number.NaN;
    for (const name of Object.keys(POLICIES) as PolicyName[]) {
      progress(`looking for the highest rate of ${name}`);
      const { rate, result } = findHighestRate(calls, name, MAX_FIRST_TOKEN_MS);
      progress('');
      rates.set(name, rate);
      if (name === 'turnpike') busiest = result.maxToMeanLoad;
      say(describe(name, rate, result));
    }
    const rateOf = (name: PolicyName): number => rates.get(name) ?? Number.NaN;
    const rate = rateOf('turnpike');
    progress('slow and killed engines');
    return [
      { name: 'calls/s ÷ those of round-robin', rounds: [rate / rateOf('round-robin')], atLeast: 2 },
      { name: 'calls/s ÷ those of the oracle', rounds: [rate / rateOf('oracle')], atLeast: 0.9 },
      { name: 'calls/s of three routers ÷ those of one', rounds: [rateOf('3 routers') / rate], atLeast: 0.75 },
      { name: 'calls/s of ten routers ÷ those of one', rounds: [rateOf('10 routers') / rate], atLeast: 0.75 },
      { name: 'load of the busiest engine ÷ the mean', rounds: [busiest], atMost: 1.3 },
      ...judgeSlowEngine(calls, rate * EASY),
      judgeSlowSteps(calls, rate * EASY),
      judgeKilledEngine(calls, rate * HARD),
      ...judgeDecision(),
    ];
  },
};

/**
 * One engine of four is ten times slower, all along or from some moment on: calls should hardly notice that it is there.
 * Every call of the run counts, those that find out that it is slow as well. The three others alone keep the bound, or a
 * fleet that is worse would look good beside them.
 */
function judgeSlowEngine(calls: readonly Call[], easyRate: number): Figure[] {
  const p99Of = (engines: SimulatedEngine[], options: Partial<RunOptions>): number =>
    percentile(runFleet(calls, engines, { policy: POLICIES.turnpike, rate, ...options }).wholeRunFirstTokenMs, 0.99);
  let rate = easyRate;
  let without = p99Of(someEngines(3), {});
  while (without > MAX_FIRST_TOKEN_MS) {
    rate *= EASIER;
    without = p99Of(someEngines(3), {});
  }
  const ratioWhen = (after: number): number =>
    p99Of(someEngines(4), { slowDown: { after, factor: SLOW_FACTOR } }) / without;
  const what = 'p99 of TTFT with one of four engines ten times slower';
  return [
    { name: `${what} ÷ that of the other three alone`, rounds: [ratioWhen(0)], atMost: 1.5 },
    { name: `${what} from the middle of the measured part on ÷ the same`, rounds: [ratioWhen(SLOW_AFTER)] },
  ];
}

/** One engine of four begins answers as quickly as the others, and takes ten times as long for each further token. */
function judgeSlowSteps(calls: readonly Call[], rate: number): Figure {
  const p95Of = (engines: SimulatedEngine[], options: Partial<RunOptions>): number =>
    percentile(runFleet(calls, engines, { policy: POLICIES.turnpike, rate, ...options }).msPerToken, 0.95);
  const slow = p95Of(someEngines(4), { slowDown: { after: 0, factor: SLOW_FACTOR, what: 'steps' } });
  const what = 'p95 of ms a token with the steps of one of four engines ten times longer';
  return { name: `${what} ÷ that of the other three alone`, rounds: [slow / p95Of(someEngines(3), {})] };
}

function judgeKilledEngine(calls: readonly Call[], rate: number): Figure {
  const options = { policy: POLICIES.turnpike, rate, killAfter: KILL_AFTER };
  const { retried, failed, cut } = runFleet(calls, someEngines(4), options);
  const what = `calls answered of the ${retried} that had no token when one of four engines was killed (${cut} answers were cut)`;
  // None to be saved is no proof.
  return { name: what, rounds: [(retried - failed) / retried], atLeast: 1 };
}

function judgeDecision(): Figure[] {
  const { prepareUs, placeUs, sha256Us } = measureDecision();
  const prompt = `a prompt of 100 KB ÷ one SHA-256 of it (${sha256Us.toFixed(0)} µs)`;
  return [
    { name: `time to choose among 16 engines for ${prompt}`, rounds: [placeUs / sha256Us], atMost: 0.85 },
    { name: `time to render and hash ${prompt}`, rounds: [prepareUs / sha256Us], atMost: 3 },
  ];
}

const describe = (name: string, rate: number, { firstTokenMs, hitRate, maxToMeanLoad }: RunResult): string =>
  toRow(name, [
    rate.toFixed(1),
    `${(100 * hitRate).toFixed(0)} %`,
    `${percentile(firstTokenMs, 0.5).toFixed(0)} ms`,
    `${percentile(firstTokenMs, 0.99).toFixed(0)} ms`,
    maxToMeanLoad.toFixed(2),
  ]);

const toRow = (name: string, cells: string[]): string =>
  `${name.padEnd(16)}${cells.map((cell) => cell.padStart(15)).join('')}`;

const say = (line: string): void => void process.stdout.write(`${line === '' ? '' : `  ${line}`}\n`);
