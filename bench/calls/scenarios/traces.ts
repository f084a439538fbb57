import { divideRounds } from '../../figure.ts';
import { measureCost } from '../measureCost.ts';
import { inRounds, sumOf, toFigure } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import { toChatRequest } from '../wire.ts';

const order = { kind: 'closed', connections: 32, seconds: 2, rate: 0, withinMs: 0 } as const;

/** What traces add to the processor time of a whole answer, at the default share of one call in a hundred, and of every call. */
export const traces: Scenario = {
  name: 'traces',
  async run(targets, { rounds: count, progress }) {
    const { edge, untracedEdge, tracedEdge } = targets;
    const rounds = await inRounds(count, [untracedEdge, edge, tracedEdge], async (target, round) => {
      progress(`traces, round ${round + 1} of ${count}: ${target.name}`);
      const { costs, calls } = await measureCost(targets, { target, request: toChatRequest(), order });
      return sumOf(costs) / calls;
    });
    return [
      toFigure('whole answer: traced by default ÷ never traced', { atMost: 1.1 }, () =>
        divideRounds(rounds.of(edge), rounds.of(untracedEdge)),
      ),
      toFigure('whole answer: every call traced ÷ never traced', {}, () =>
        divideRounds(rounds.of(tracedEdge), rounds.of(untracedEdge)),
      ),
    ];
  },
};
