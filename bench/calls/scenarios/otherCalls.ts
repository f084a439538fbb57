import { divideRounds, type Figure } from '../../figure.ts';
import { measureCost } from '../measureCost.ts';
import { inRounds, printParts, sumOf, toFigure } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import { modelListRequest, toChatRequest, toEmbeddingsRequest } from '../wire.ts';

const order = { kind: 'closed', connections: 8, seconds: 1.5, rate: 0, withinMs: 0 } as const;

/** Processor time of calls that are not short chats. */
export const otherCalls: Scenario = {
  name: 'others',
  async run(targets, { rounds: count, progress }) {
    const { nginx, router, edge, running } = targets;
    const catalog = running.stack.regions.us.services.catalog.pid;
    const listingEdge = { ...edge, parts: { ...edge.parts, catalog } };
    const kinds = [
      { name: 'a prompt of 200 KiB', request: toChatRequest({ promptBytes: 204_800 }), ours: [router, edge] },
      { name: 'embeddings of 64 inputs', request: toEmbeddingsRequest(), ours: [router, edge] },
      { name: 'the model list', request: modelListRequest, ours: [listingEdge] },
    ];
    const figures: Figure[] = [];
    for (const { name, request, ours } of kinds) {
      const rounds = await inRounds(count, [nginx, ...ours], async (target, round) => {
        progress(`${name}, round ${round + 1} of ${count}: ${target.name}`);
        const { costs, calls } = await measureCost(targets, { target, request, order });
        return Object.fromEntries(Object.entries(costs).map(([part, us]) => [part, us / calls]));
      });
      printParts(`processor time of ${name}, µs`, rounds);
      for (const target of ours)
        figures.push(
          toFigure(`${name}: fleet behind ${target.name} ÷ nginx`, {}, () =>
            divideRounds(rounds.of(target).map(sumOf), rounds.of(nginx).map(sumOf)),
          ),
        );
    }
    return figures;
  },
};
