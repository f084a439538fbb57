import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'redis-cut',
  group: 'redis',
  breaks: 'the router’s connection to Redis is reset ten times',
  holds: '200 or 503; a script that ran unseen is not run twice',
  eventLog: 'kafka',
  async run(context) {
    const { links } = context.stack;
    const calls = await breakUnderLoad(context, {
      times: 10,
      strike: async () => links.reset({ to: 'redis' }),
      forMs: 50,
      repair: async () => undefined,
    });
    context.checkOutcomes(calls, { ok: true, '503': true });
  },
};
