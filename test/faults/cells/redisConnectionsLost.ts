import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'redis-connections-lost',
  group: 'redis',
  breaks: 'nothing passes any more, for good, on the connections to Redis; nobody closes them, and new ones work',
  holds: 'a router connects anew by itself, and nothing is charged twice',
  eventLog: 'kafka',
  async run(context) {
    const { links } = context.stack;
    const calls = await breakUnderLoad(context, {
      strike: async () => links.lose({ to: 'redis' }),
      forMs: 0,
      repair: async () => undefined,
    });
    context.checkOutcomes(calls, { ok: true, '503': true });
  },
};
