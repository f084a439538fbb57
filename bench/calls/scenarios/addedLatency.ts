import { divideRounds, NoFigure } from '../../figure.ts';
import { median } from '../../median.ts';
import { measureCost } from '../measureCost.ts';
import { addedBy, compareOurs, inRounds, type Latency, print, printParts, toFigure, toLatency } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import type { Target } from '../target.ts';
import type { Targets } from '../targets.ts';
import { toChatRequest } from '../wire.ts';

/**
 * Rates in requests a second. The bench uses the highest rate of which a closed loop carries four times as much. Calls at a fixed rate cost
 * more than those of a closed loop. At half of the closed loop's rate two cores are full, and the bench would measure a queue.
 */
const RATES = [1_000, 800, 600, 500, 400, 300, 200, 100];
const MOST_OF_CARRIED = 0.25;
const SECONDS = 1.4;
/** A rate is carried when the last answer comes so soon after the last request was due: no queue is what is measured. */
const MOST_BEHIND_SECONDS = 0.1;
const closed = { kind: 'closed', connections: 32, seconds: 1, rate: 0, withinMs: 0 } as const;

interface Measured extends Latency {
  /** Processor time of a call, µs. */
  costs: Record<string, number>;
}

/**
 * The time that each hop adds to a whole answer at a fixed rate of requests, and the cost at that rate. The load is the same for
 * all targets; the router's is the one behind the edge. In a closed loop a fast target's neighbors never sleep, and a slow one
 * pays for waking them at each write.
 */
export const addedLatency: Scenario = {
  name: 'latency',
  hasPeers: true,
  async run(targets, { rounds: count, progress }) {
    const { direct, nginx, pipes, edge, portkey } = targets;
    progress('looking for a rate that is carried');
    const rate = await findRate(targets);
    const rounds = await inRounds(count, [direct, nginx, pipes, edge, portkey], (target, round) => {
      progress(`added latency, round ${round + 1} of ${count}: ${target.name}`);
      return measure(targets, target, rate);
    });
    const added = addedBy(rounds, direct);
    print(`added at ${rate} requests/s, p50 and p99, ms`);
    for (const target of [nginx, pipes, edge, ...(portkey ? [portkey] : [])]) {
      try {
        const [p50, p99] = [median(added(target, 'p50')), median(added(target, 'p99'))];
        print(`  ${target.name.padEnd(22)} ${p50.toFixed(2).padStart(8)} ${p99.toFixed(2).padStart(8)}`);
      } catch (error) {
        print(`  ${target.name.padEnd(22)} ${(error as Error).message}`);
      }
    }
    print('');
    const costs = { targets: rounds.targets, of: (target: Target) => rounds.of(target).map((one) => one.costs) };
    printParts(`processor time of a whole answer at ${rate} requests/s, µs`, costs);
    const title = `added at ${rate} requests/s: edge + router`;
    const over = (target: Target, at: keyof Latency, divisor: Target) => () =>
      divideRounds(added(target, at), added(divisor, at));
    return [
      toFigure(`${title}, p50 ÷ nginx`, { atMost: 3.5 }, over(edge, 'p50', nginx), over(pipes, 'p50', nginx)),
      ...(portkey
        ? [
            toFigure(
              `${title}, p99 ÷ Portkey`,
              { atMost: 0.05 },
              over(edge, 'p99', portkey),
              over(pipes, 'p99', portkey),
            ),
          ]
        : []),
      toFigure(
        `${title}, p99`,
        { unit: 'ms' },
        () => added(edge, 'p99'),
        () => added(pipes, 'p99'),
      ),
      ...compareOurs(`whole answer at ${rate}/s`, costs, { nginx, pipes, edge, portkey, router: edge }),
    ];
  },
};

/** Found by how many calls go through as fast as they go. */
async function findRate(targets: Targets): Promise<number> {
  const { calls, report } = await measureCost(targets, {
    target: targets.edge,
    request: toChatRequest(),
    order: closed,
  });
  const carried = calls / report.seconds;
  const rate = RATES.find((one) => one <= carried * MOST_OF_CARRIED);
  if (rate === undefined) throw new NoFigure(`this machine carries ${carried.toFixed(0)} calls/s just now`);
  return rate;
}

async function measure(targets: Targets, target: Target, rate: number): Promise<Measured> {
  const order = { kind: 'open', connections: 64, seconds: SECONDS, rate, withinMs: 0 } as const;
  const { perCall, report } = await measureCost(targets, { target, request: toChatRequest(), order });
  if (report.seconds - SECONDS > MOST_BEHIND_SECONDS)
    throw new NoFigure(`${target.name} does not carry ${rate} requests/s, so a queue is what would be measured`);
  return { ...toLatency(report.wholeMs), costs: perCall };
}
