import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'broker-slow',
  group: 'broker',
  breaks: 'every acknowledgement of the broker takes 2 s longer, for 6 s',
  holds: 'every call ends well',
  eventLog: 'kafka',
  async run(context) {
    const { links } = context.stack;
    const calls = await breakUnderLoad(context, {
      strike: () => links.become({ from: 'model-router', to: 'kafka' }, { delayMs: 1_000 }),
      forMs: 6_000,
      repair: () => links.become({ from: 'model-router', to: 'kafka' }, {}),
    });
    context.checkOutcomes(calls, { ok: true });
  },
};
