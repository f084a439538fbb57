import { divideRounds, type Figure } from '../../figure.ts';
import { measureCost, toRequests } from '../measureCost.ts';
import { inRounds, printParts, sumOf, toFigure } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import { toChatRequest } from '../wire.ts';

const STATUSES = [401, 402, 429] as const;
const WHAT = { 401: 'a wrong key', 402: 'no credit', 429: 'requests per minute used up' };
const MOST_OF_BARE = 2.5;
const order = { kind: 'closed', connections: 32, seconds: 1, rate: 0, withinMs: 0 } as const;

const first = { kind: 'once', connections: 1, seconds: 0, rate: 0, withinMs: 0 } as const;

/** Processor time of a refusal, in storms of them. */
export const refusals: Scenario = {
  name: 'refusals',
  async run(targets, { rounds: count, progress }) {
    const { bare, refusedKeys } = targets;
    const figures: Figure[] = [];
    for (const status of STATUSES) {
      const apiKeys = [refusedKeys[status]];
      const router = { ...targets.router, apiKeys };
      const edge = { ...targets.edge, apiKeys };
      // The first call of all uses up the one request a minute.
      if (status === 429)
        await targets.load.ask({ ...first, port: edge.port, requests: toRequests(edge, toChatRequest()) });
      const rounds = await inRounds(count, [bare, router, edge], async (target, round) => {
        progress(`${status}, round ${round + 1} of ${count}: ${target.name}`);
        const wanted = target === bare ? 401 : status;
        const options = { target, request: toChatRequest(), order, status: wanted };
        const { costs, calls } = await measureCost(targets, options);
        return Object.fromEntries(Object.entries(costs).map(([part, us]) => [part, us / calls]));
      });
      printParts(`processor time of a ${status}, ${WHAT[status]}, µs`, rounds);
      const ratio = (name: string, target: typeof bare) =>
        toFigure(`${status} of ${name} ÷ bare node:http`, { atMost: MOST_OF_BARE }, () =>
          divideRounds(rounds.of(target).map(sumOf), rounds.of(bare).map(sumOf)),
        );
      figures.push(ratio('the router', router), ratio('edge + router', edge));
    }
    return figures;
  },
};
