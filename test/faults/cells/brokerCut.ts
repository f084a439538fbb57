import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'broker-cut',
  group: 'broker',
  breaks: 'the ledger is cut off from the broker without a word, for longer than its session lasts',
  holds: 'every call ends well; rows come late and never twice',
  eventLog: 'kafka',
  async run(context) {
    const { links } = context.stack;
    const link = { from: 'usage-ledger', to: 'kafka' } as const;
    const calls = await breakUnderLoad(context, {
      strike: () => links.become(link, { blackHole: true }),
      forMs: 13_000,
      repair: async () => {
        links.reset(link);
        await links.become(link, {});
      },
    });
    context.checkOutcomes(calls, { ok: true });
  },
};
