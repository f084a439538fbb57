import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'redis-held-replies',
  group: 'redis',
  breaks: 'Redis does what it is told for 2 s, and its answers never arrive',
  holds: 'admissions nobody waited for are taken back, and nothing is settled twice',
  eventLog: 'kafka',
  async run(context) {
    const { links } = context.stack;
    const calls = await breakUnderLoad(context, {
      strike: () => links.become({ to: 'redis' }, { holdReplies: true }),
      forMs: 2_000,
      repair: async () => {
        links.reset({ to: 'redis' });
        await links.become({ to: 'redis' }, {});
      },
    });
    context.checkOutcomes(calls, { ok: true, '503': true });
  },
};
