import { divideRounds } from '../../figure.ts';
import { median } from '../../median.ts';
import { measureCost, NoFigure } from '../measureCost.ts';
import { percentile } from '../percentile.ts';
import { inRounds, print, toFigure } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import type { Target } from '../target.ts';
import type { Targets } from '../targets.ts';
import { toChatRequest } from '../wire.ts';

/** Requests a second: the highest that edge and router carry on this machine beside the engine and the load. */
const RATES = [1_000, 800, 600, 400, 300, 200, 100];
const SECONDS = 3;
const PROBE_SECONDS = 1.5;
/** A rate is carried when the last answer comes so soon after the last request was due. */
const MOST_BEHIND_SECONDS = 0.1;

/** What is added to the time of a whole answer when requests come by the clock, whatever the answers do. */
export const addedLatency: Scenario = {
  name: 'latency',
  hasPeers: true,
  async run(targets, { rounds: count, progress }) {
    const { direct, nginx, router, edge, portkey } = targets;
    progress('looking for a rate that is carried');
    const rate = await findRate(targets);
    const rounds = await inRounds(count, [direct, nginx, router, edge, portkey], (target, round) => {
      progress(`added latency, round ${round + 1} of ${count}: ${target.name}`);
      return measure(targets, target, { rate, seconds: SECONDS });
    });
    const added = (target: Target, at: 'p50' | 'p99') =>
      rounds.of(target).map((one, round) => one[at] - (rounds.of(direct)[round]?.[at] ?? Number.NaN));
    print(`added at ${rate} requests/s, p50 and p99, ms`);
    for (const target of [nginx, router, edge, ...(portkey ? [portkey] : [])]) {
      try {
        const [p50, p99] = [median(added(target, 'p50')), median(added(target, 'p99'))];
        print(`  ${target.name.padEnd(22)} ${p50.toFixed(2).padStart(8)} ${p99.toFixed(2).padStart(8)}`);
      } catch (error) {
        print(`  ${target.name.padEnd(22)} ${(error as Error).message}`);
      }
    }
    print('');
    const title = `added at ${rate} requests/s`;
    return [
      toFigure(`${title}: edge + router, p50 ÷ nginx`, { atMost: 3.5 }, () =>
        divideRounds(added(edge, 'p50'), added(nginx, 'p50')),
      ),
      ...(portkey
        ? [
            toFigure(`${title}: edge + router, p99 ÷ Portkey`, { atMost: 0.05 }, () =>
              divideRounds(added(edge, 'p99'), added(portkey, 'p99')),
            ),
          ]
        : []),
      toFigure(`${title}: edge + router, p99`, { unit: 'ms' }, () => added(edge, 'p99')),
    ];
  },
};

async function findRate(targets: Targets): Promise<number> {
  for (const rate of RATES) {
    try {
      const { behindSeconds } = await measure(targets, targets.edge, { rate, seconds: PROBE_SECONDS });
      if (behindSeconds < MOST_BEHIND_SECONDS) return rate;
    } catch (error) {
      if (!(error instanceof NoFigure)) throw error;
    }
  }
  throw new NoFigure('no rate was carried');
}

async function measure(targets: Targets, target: Target, { rate, seconds }: { rate: number; seconds: number }) {
  const order = { kind: 'open', connections: 64, seconds, rate, withinMs: 0 } as const;
  const { report } = await measureCost(targets, { target, request: toChatRequest(), order });
  const { wholeMs } = report;
  return {
    p50: percentile(wholeMs, 0.5),
    p99: percentile(wholeMs, 0.99),
    behindSeconds: report.seconds - seconds,
  };
}
