import { divideRounds } from '../../figure.ts';
import { measureCost } from '../measureCost.ts';
import { addedBy, inRounds, toFigure, toLatency } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import { toChatRequest } from '../wire.ts';

const PLAN = { tokens: 10, everyMs: 20 };
const RATE = 100;
const order = { kind: 'open', connections: 64, seconds: 2, rate: RATE, withinMs: 0 } as const;

/** The time that each hop adds to the first token when 100 streams a second begin. */
export const firstToken: Scenario = {
  name: 'first-token',
  async run(targets, { rounds: count, progress }) {
    const { engine, direct, nginx, pipes, edge } = targets;
    await engine.ask(PLAN);
    const rounds = await inRounds(count, [direct, nginx, pipes, edge], async (target, round) => {
      progress(`first tokens, round ${round + 1} of ${count}: ${target.name}`);
      const request = toChatRequest({ isStream: true });
      const { report } = await measureCost(targets, { target, request, order });
      return toLatency(report.firstByteMs);
    });
    const added = addedBy(rounds, direct);
    const title = `first token added at ${RATE} streams/s`;
    return [
      toFigure(
        `${title}: edge + router, p50 ÷ nginx`,
        { atMost: 6 },
        () => divideRounds(added(edge, 'p50'), added(nginx, 'p50')),
        () => divideRounds(added(pipes, 'p50'), added(nginx, 'p50')),
      ),
      ...(['p50', 'p99'] as const).map((at) =>
        toFigure(
          `${title}: edge + router, ${at}`,
          { unit: 'ms', ...(at === 'p99' && { atMost: 10 }) },
          () => added(edge, at),
          () => added(pipes, at),
        ),
      ),
    ];
  },
};
