import type { Figure } from '../../figure.ts';
import { measureCost } from '../measureCost.ts';
import { compareOurs, inRounds, printParts, toRatio, totalOf } from '../rounds.ts';
import type { Scenario } from '../scenario.ts';
import { modelListRequest, toChatRequest, toEmbeddingsRequest, toImageRequest } from '../wire.ts';

const order = { kind: 'closed', connections: 8, seconds: 0.3, rate: 0, withinMs: 0 } as const;

/** Processor time of calls that are not short chats; the router's is that behind the edge. */
export const otherCalls: Scenario = {
  name: 'others',
  async run(targets, { rounds: count, progress }) {
    const { nginx, pipes, edge, running } = targets;
    const catalog = running.stack.regions.us.services.catalog.pid;
    // The request is large, and every key has its own copy of it.
    const imagingEdge = { ...edge, apiKeys: edge.apiKeys.slice(0, 1) };
    const kinds = [
      { name: 'a prompt of 200 KiB', request: toChatRequest({ promptBytes: 204_800 }), ours: edge },
      { name: 'an image of 4 MiB', request: toImageRequest(), ours: imagingEdge },
      { name: 'embeddings of 64 inputs', request: toEmbeddingsRequest(), ours: edge },
      { name: 'the model list', request: modelListRequest, ours: { ...edge, parts: { ...edge.parts, catalog } } },
    ];
    const figures: Figure[] = [];
    for (const { name, request, ours } of kinds) {
      const rounds = await inRounds(count, [nginx, pipes, ours], async (target, round) => {
        progress(`${name}, round ${round + 1} of ${count}: ${target.name}`);
        return (await measureCost(targets, { target, request, order })).perCall;
      });
      printParts(`processor time of ${name}, µs`, rounds);
      // The edge asks the catalog for the models, and no router.
      if (request !== modelListRequest)
        figures.push(...compareOurs(name, rounds, { nginx, pipes, edge: ours, router: ours }));
      figures.push(
        toRatio(
          `${name}: the whole fleet ÷ nginx`,
          { rounds, divisor: nginx },
          () => totalOf(rounds, ours),
          () => totalOf(rounds, pipes),
        ),
      );
    }
    return figures;
  },
};
