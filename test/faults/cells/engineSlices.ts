import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'engine-slices',
  group: 'engines',
  breaks: 'all that engines say arrives in pieces of seven bytes',
  holds: 'every call ends well, whatever is cut in two',
  eventLog: 'kafka',
  async run(context) {
    const { links } = context.stack;
    const calls = await breakUnderLoad(context, {
      load: { tokens: [1, 10] },
      strike: () => links.become({ to: 'engines' }, { sliceBytes: 7 }),
      forMs: 3_000,
      repair: () => links.become({ to: 'engines' }, {}),
    });
    context.checkOutcomes(calls, { ok: true });
  },
};
