import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'redis-slow',
  group: 'redis',
  breaks: 'every answer of Redis comes 1.2 s late for 5 s, past its deadline',
  holds: '200 or 503; an admission that came too late holds nothing in the end',
  eventLog: 'embedded',
  async run(context) {
    const { links } = context.stack;
    const calls = await breakUnderLoad(context, {
      strike: () => links.become({ to: 'redis' }, { delayMs: 600 }),
      forMs: 5_000,
      repair: () => links.become({ to: 'redis' }, {}),
    });
    context.checkOutcomes(calls, { ok: true, '503': true });
  },
};
