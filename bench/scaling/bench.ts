import { writeFileSync } from 'node:fs';
import type { Bench } from '../bench.ts';
import type { Figure } from '../figure.ts';
import { drawPlot } from '../growth/drawPlot.ts';
import type { Plot } from '../growth/plot.ts';
import { type Costs, MACHINES } from './costs.ts';
import { type Load, openStreams, STREAMS, WHOLE_ANSWERS } from './load.ts';
import { BUSY, coresOf, type Pods, planPods } from './planPods.ts';
import { simulateKnownQueues } from './simulateKnownQueues.ts';
import { simulateLedgers } from './simulateLedgers.ts';
import { simulateRedis } from './simulateRedis.ts';
import { EDGE_CONNECTIONS, type LoopResult, type RegionResult, simulateRegion } from './simulateRegion.ts';
import { type RolloutResult, simulateRollout } from './simulateRollout.ts';

const PICTURE = new URL('../results/scaling-rollout.svg', import.meta.url);
/** What is measured of a region: a million chunks of streams. */
const SECONDS = { [STREAMS.name]: 1, [WHOLE_ANSWERS.name]: 20 };
const STORE_SECONDS = 20;
const KNOWN_BUSY = [0.6, 0.8];
const CUSTOMERS = 1_000_000;
/** By how much a mean of so many waits may miss theory. */
const TOLERANCE = 0.04;
const SHARDS = [1, 2, 3, 4];
const LEDGERS = [2, 4];
/** Seconds after a rollout that are printed and drawn. */
const LOOKS = [1, 5, 10, 30, 60];
const LONG_LOOKS = [...LOOKS, 120, 300];
const ROLLOUT_NAME = 44;

interface Variant {
  name: string;
  change: (pods: number) => number;
  isLong?: boolean;
}

/** What becomes of the pods that are planned. */
const VARIANTS: Variant[] = [
  { name: 'as planned', change: (pods) => pods },
  { name: 'one fewer', change: (pods) => pods - 1, isLong: true },
  { name: '10 % fewer', change: (pods) => Math.round(pods * 0.9), isLong: true },
  { name: '25 % fewer', change: (pods) => Math.round(pods * 0.75), isLong: true },
];

/** Virtual time: equal seeds give equal figures. Nothing of the stack runs; what a thing costs is taken from measurements of it. */
export const bench: Bench = {
  isUndisturbed: true,
  measures: 'whether the pods that docs/scaling.md plans for a region carry what they are planned for, in virtual time',
  async run({ seed, isLong, progress, timed }) {
    progress('queues of which it is known how long they wait');
    const known = await timed('known', async () => judgeKnownQueues(seed));
    const planned = new Map<string, RegionResult>();
    const figures: Figure[] = [];
    for (const load of [WHOLE_ANSWERS, STREAMS]) {
      for (const costs of MACHINES) {
        describePlan(costs, load);
        for (const variant of variantsOf(planPods(costs, load), isLong)) {
          const what = `${load.name}, costs of run ${costs.name}, ${variant.name}`;
          progress(what);
          const result = await timed(what, async () =>
            simulateRegion({ seed, costs, load, pods: variant.pods, seconds: SECONDS[load.name] ?? 1 }),
          );
          if (variant.name === 'as planned') planned.set(`${load.name}, run ${costs.name}`, result);
          say(toRow(variant.name, describeRegion(variant.pods, result)));
        }
        say('');
      }
    }
    for (const [name, result] of planned) figures.push(...judgePlan(name, result));
    progress('a rollout');
    const looks = isLong ? LONG_LOOKS : LOOKS;
    const rollouts = await timed('rollout', async () => ({
      aging: simulatePlannedRollout({ seed, maxAgeSeconds: EDGE_CONNECTIONS.maxAgeSeconds, looks }),
      lasting: simulatePlannedRollout({ seed, maxAgeSeconds: undefined, looks }),
    }));
    const plot = describeRollouts(rollouts, looks);
    // The picture is that of docs/scaling.md, which tells all of it.
    if (isLong) writeFileSync(PICTURE, drawPlot(plot));
    progress('Redis and ledgers');
    figures.push(...(await timed('redis', async () => MACHINES.map((costs) => judgeRedis(seed, costs)))));
    figures.push(...(await timed('ledgers', async () => MACHINES.map((costs) => judgeLedgers(seed, costs)))));
    progress('');
    return [...known, ...figures, toRolloutFigure(rollouts.aging)];
  },
};

/** The simulation's own parts held against theory, so that a mistake in them is seen. */
const judgeKnownQueues = (seed: number): Figure[] =>
  KNOWN_BUSY.flatMap((busy) =>
    simulateKnownQueues({ seed, busy, customers: CUSTOMERS }).map(({ name, known, simulated }) => ({
      name: `${name} ÷ what is known of it`,
      rounds: [simulated / known],
      atLeast: 1 - TOLERANCE,
      atMost: 1 + TOLERANCE,
    })),
  );

/** Different ones only: of two pods a tenth is none. */
function variantsOf(planned: Pods, withLong: boolean): { name: string; pods: Pods }[] {
  const seen = new Set<string>();
  return VARIANTS.filter(({ isLong }) => withLong || !isLong).flatMap(({ name, change }) => {
    const pods = { edge: change(planned.edge), router: change(planned.router) };
    if (seen.has(JSON.stringify(pods))) return [];
    seen.add(JSON.stringify(pods));
    return [{ name, pods }];
  });
}

function describePlan(costs: Costs, load: Load): void {
  const { edge, router } = planPods(costs, load);
  const open = openStreams(load);
  const memory = (open * (costs.edge.streamKiB + costs.router.streamKiB)) / 1024 ** 2;
  const cores = `${coresOf(costs.edge, load).toFixed(2)} and ${coresOf(costs.router, load).toFixed(2)} cores`;
  const streams = load.chunks > 0 ? `; ${open} open streams take ${memory.toFixed(1)} GiB` : '';
  say(
    `${load.callsPerSecond} ${load.name} a second at the costs of run ${costs.name}: edges and routers need ${cores},`,
  );
  say(`so ${edge} and ${router} pods whose loops are ${BUSY} busy${streams}`);
  const wait = load.chunks > 0 ? 'a chunk waits' : 'a call waits';
  say(
    toRow('', [
      'edges',
      'busy',
      'busiest',
      'routers',
      'busy',
      'busiest',
      `${wait} p50`,
      'p99',
      'in the busiest router',
    ]),
  );
}

const describeRegion = (pods: Pods, { edge, router, waits }: RegionResult): string[] => [
  ...[String(pods.edge), ...describeLoops(edge)],
  ...[String(pods.router), ...describeLoops(router)],
  ...[toMs(waits.percentile(0.5)), toMs(waits.percentile(0.99)), toMs(router.busiestWaits.percentile(0.99))],
];

const describeLoops = ({ busy }: LoopResult): string[] => [meanOf(busy).toFixed(2), Math.max(...busy).toFixed(2)];

const judgePlan = (name: string, { edge, router, waits }: RegionResult): Figure[] => [
  { name: `${name}: p99 of what waits for loops`, rounds: [waits.percentile(0.99) * 1_000], unit: 'ms', atMost: 10 },
  {
    name: `${name}: how busy the busiest pod is`,
    rounds: [Math.max(...edge.busy, ...router.busy)],
    atMost: 0.75,
  },
];

function simulatePlannedRollout({
  seed,
  maxAgeSeconds,
  looks,
}: {
  seed: number;
  maxAgeSeconds: number | undefined;
  looks: number[];
}): RolloutResult {
  const [costs] = MACHINES as [Costs];
  const { edge, router } = planPods(costs, STREAMS);
  return simulateRollout({
    seed,
    load: STREAMS,
    edges: edge,
    routers: router,
    maxAgeSeconds,
    secondsAfter: Math.max(...looks),
  });
}

/** With connections as old as the edge lets them be, and with such as are used for as long as they stand. */
interface Rollouts {
  aging: RolloutResult;
  lasting: RolloutResult;
}

function describeRollouts({ aging, lasting }: Rollouts, looks: number[]): Plot {
  say('open streams of a router ÷ the mean, seconds after a rollout of all routers, one every ten seconds');
  say(toRow(''.padEnd(ROLLOUT_NAME), ['before', ...looks.map(String)]));
  const maxAge = `${EDGE_CONNECTIONS.maxAgeSeconds} s`;
  const lines = [
    { name: `the busiest, connections of ${maxAge} at most`, result: aging, which: 'most' },
    { name: `the idlest, connections of ${maxAge} at most`, result: aging, which: 'least' },
    { name: 'the busiest, connections that last', result: lasting, which: 'most' },
    { name: 'the idlest, connections that last', result: lasting, which: 'least' },
  ] as const;
  for (const { name, result, which } of lines) {
    const after = looks.map((second) => (result.after[second]?.[which] ?? 0).toFixed(2));
    say(toRow(name.padEnd(ROLLOUT_NAME), [result.before[which].toFixed(2), ...after]));
  }
  say('');
  return {
    name: 'scaling-rollout',
    title: 'Open streams of the busiest and of the idlest router after a rollout, simulated',
    along: 'seconds since the last router came back',
    isRelative: false,
    lines: lines.map(({ name, result, which }) => ({
      name,
      unit: 'open streams ÷ the mean of all routers',
      points: looks.map((second) => ({ size: second, rounds: [result.after[second]?.[which] ?? Number.NaN] })),
    })),
  };
}

const toRolloutFigure = ({ after }: RolloutResult): Figure => ({
  name: 'open streams of the busiest router ÷ the mean, right after a rollout',
  rounds: [after[0]?.most ?? Number.NaN],
});

function judgeRedis(seed: number, costs: Costs): Figure {
  const results = SHARDS.map((shards) => {
    const result = simulateRedis({ seed, costs, load: WHOLE_ANSWERS, shards, seconds: STORE_SECONDS });
    return { shards, ...result };
  });
  say(`Redis at the costs of run ${costs.name}: how busy the busiest shard is, as workspaces happen to lie on shards`);
  say(toRow('', ['as a rule', 'one in twenty', 'waits p50', 'p99']));
  for (const { shards, busiest, busiestOfTwenty, waits } of results)
    say(
      toRow(`shards: ${shards}`, [
        ...[busiest.toFixed(2), busiestOfTwenty.toFixed(2)],
        ...[toMs(waits.percentile(0.5)), toMs(waits.percentile(0.99))],
      ]),
    );
  say('');
  const enough = results.find(({ busiestOfTwenty }) => busiestOfTwenty <= BUSY);
  return {
    name: `shards of Redis that keep within ${BUSY} busy at the costs of run ${costs.name}`,
    rounds: [enough?.shards ?? Number.NaN],
  };
}

function judgeLedgers(seed: number, costs: Costs): Figure {
  const results = LEDGERS.map((ledgers) => {
    const { callsPerSecond } = WHOLE_ANSWERS;
    return { ledgers, ...simulateLedgers({ seed, costs, callsPerSecond, ledgers, seconds: STORE_SECONDS }) };
  });
  say(`ledgers at the costs of run ${costs.name}; Postgres with four cores`);
  say(toRow('', ['busy', 'busiest', 'Postgres', 'largest partition', 'lag p50', 'p99', 'of the largest']));
  for (const { ledgers, busy, postgresBusy, largestPartition, lag, largestLag } of results)
    say(
      toRow(`ledgers: ${ledgers}`, [
        ...[meanOf(busy).toFixed(2), Math.max(...busy).toFixed(2), postgresBusy.toFixed(2)],
        ...[`${(largestPartition * 100).toFixed(0)} %`, toMs(lag.percentile(0.5)), toMs(lag.percentile(0.99))],
        toMs(largestLag.percentile(0.99)),
      ]),
    );
  say('');
  const lagMs = Math.max(...results.map(({ largestLag }) => largestLag.percentile(0.99))) * 1_000;
  return {
    name: `p99 of the time until a call of the log is recorded, run ${costs.name}`,
    rounds: [lagMs],
    unit: 'ms',
    atMost: 1_000,
  };
}

const meanOf = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

const toMs = (seconds: number): string => `${Number((seconds * 1_000).toPrecision(2))} ms`;

const toRow = (name: string, cells: string[]): string =>
  `${name.padEnd(12)}${cells.map((cell) => cell.padStart(Math.max(9, cell.length + 2))).join('')}`;

const say = (line: string): void => void process.stdout.write(`${line === '' ? '' : `  ${line}`}\n`);
