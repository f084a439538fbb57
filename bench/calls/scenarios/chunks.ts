import { divideParts, measureCost } from '../measureCost.ts';
import { compareOurs, inRounds, printParts } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import { toChatRequest } from '../wire.ts';

const PACED = { tokens: 100, everyMs: 20 };
const UNPACED = { tokens: 500, everyMs: 0 };
const order = { kind: 'once', connections: 240, seconds: 0, rate: 0, withinMs: 400 } as const;
const unpacedOrder = { ...order, connections: 40 } as const;

/** Measures CPU time of a streamed chunk, with its call. 240 streams have 100 chunks at 20 ms. Other streams get all chunks at once. */
export const chunks: Scenario = {
  name: 'chunks',
  hasPeers: true,
  async run(targets, { rounds: count, progress }) {
    const { engine, nginx, pipes, router, edge, portkey } = targets;
    const request = toChatRequest({ isStream: true });
    const measure = (title: string, plan: typeof PACED, how: typeof order | typeof unpacedOrder) =>
      inRounds(count, [nginx, pipes, router, edge, portkey], async (target, round) => {
        progress(`${title}, round ${round + 1} of ${count}: ${target.name}`);
        await engine.ask(plan);
        const { costs, report } = await measureCost(targets, { target, request, order: how });
        return divideParts(costs, report.events);
      });
    const paced = await measure('paced chunks', PACED, order);
    printParts('processor time of a chunk, 240 streams at 20 ms, µs', paced);
    const unpaced = await measure('unpaced chunks', UNPACED, unpacedOrder);
    printParts('processor time of a chunk, all at once, µs', unpaced, 2);
    // LiteLLM is not measured here.
    const compared = { ...targets, litellm: undefined };
    return [
      ...compareOurs('paced chunk', paced, compared, { router: 2.3, both: 4.5, Portkey: 0.6 }),
      ...compareOurs('unpaced chunk', unpaced, compared),
    ];
  },
};
