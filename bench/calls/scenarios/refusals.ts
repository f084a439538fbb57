import { divideRounds } from '../../figure.ts';
import { measureCost, toRequests } from '../measureCost.ts';
import { inRounds, printParts, toFigure, totalOf } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import type { Target } from '../target.ts';
import type { Targets } from '../targets.ts';
import { toChatRequest } from '../wire.ts';

const STATUSES = [401, 402, 429] as const;
const MOST_OF_BARE = 2.5;
const order = { kind: 'closed', connections: 32, seconds: 0.5, rate: 0, withinMs: 0 } as const;
/** As long as it takes until refusals are compiled: all of them by turns, through the edge, and those of the bare server. */
const warm = { kind: 'closed', connections: 32, seconds: 3, rate: 0, withinMs: 0 } as const;
const first = { kind: 'once', connections: 1, seconds: 0, rate: 0, withinMs: 0 } as const;

/** Processor time of a refusal, in storms of them: a wrong key, no credit, the requests of a minute used up. */
export const refusals: Scenario = {
  name: 'refusals',
  async run(targets, { rounds: count, progress }) {
    const { bare, refusedKeys } = targets;
    const storms = STATUSES.flatMap((status) =>
      [targets.router, targets.edge].map(
        (target): Target => ({
          ...target,
          name: `${status} of ${target.name}`,
          apiKeys: [refusedKeys[status]],
          // Nothing is held or recorded of what is refused.
          settled: async () => undefined,
        }),
      ),
    );
    // The first call of all uses up the one request a minute.
    const { edge } = targets;
    const once = { ...edge, apiKeys: [refusedKeys[429]] };
    await targets.load.ask({ ...first, port: edge.port, requests: toRequests(once, toChatRequest()) });
    await warmUp(targets);
    await edge.settled();
    const rounds = await inRounds(count, [bare, ...storms], async (target, round) => {
      progress(`refusals, round ${round + 1} of ${count}: ${target.name}`);
      const status = target === bare ? 401 : Number.parseInt(target.name, 10);
      const { costs, calls } = await measureCost(targets, { target, request: toChatRequest(), order, status });
      return Object.fromEntries(Object.entries(costs).map(([part, us]) => [part, us / calls]));
    });
    printParts('processor time of a refusal, µs', rounds);
    return storms.map((target) =>
      toFigure(`${target.name} ÷ bare node:http`, { atMost: MOST_OF_BARE }, () =>
        divideRounds(totalOf(rounds, target), totalOf(rounds, bare)),
      ),
    );
  },
};

async function warmUp({ load, otherLoad, bare, edge, refusedKeys }: Targets): Promise<void> {
  const refused = toRequests({ ...edge, apiKeys: Object.values(refusedKeys) }, toChatRequest());
  await Promise.all([
    load.ask({ ...warm, port: edge.port, requests: refused }),
    otherLoad.ask({ ...warm, port: bare.port, requests: refused }),
  ]);
}
