import { divideRounds } from '../../figure.ts';
import { measureCost } from '../measureCost.ts';
import { inRounds, sumOf, toFigure } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import { sendWhole } from '../warmUp.ts';
import { toChatRequest } from '../wire.ts';

const WARM_UP_CALLS = 4_000;
const order = { kind: 'closed', connections: 32, seconds: 1.2, rate: 0, withinMs: 0 } as const;

/**
 * The processor time that traces add to a whole answer, at the default share of one call in a hundred. With `isLong`, also with
 * every call traced.
 */
export const traces: Scenario = {
  name: 'traces',
  async run(targets, { rounds: count, isLong, progress }) {
    const { edge, untracedEdge, tracedEdge } = targets;
    progress('warming up edges that trace otherwise');
    const others = isLong ? [untracedEdge, tracedEdge] : [untracedEdge];
    for (const target of others) await sendWhole(targets, target, WARM_UP_CALLS);
    await edge.settled();
    const rounds = await inRounds(count, [edge, ...others], async (target, round) => {
      progress(`traces, round ${round + 1} of ${count}: ${target.name}`);
      const { perCall } = await measureCost(targets, { target, request: toChatRequest(), order });
      return sumOf(perCall);
    });
    return [
      toFigure('whole answer: traced by default ÷ never traced', { atMost: 1.1 }, () =>
        divideRounds(rounds.of(edge), rounds.of(untracedEdge)),
      ),
      ...(isLong
        ? [
            toFigure('whole answer: every call traced ÷ never traced', {}, () =>
              divideRounds(rounds.of(tracedEdge), rounds.of(untracedEdge)),
            ),
          ]
        : []),
    ];
  },
};
