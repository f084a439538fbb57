import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'postgres-cut',
  group: 'postgres',
  breaks: 'the ledger’s connections to Postgres are reset ten times, in the middle of transactions',
  holds: 'every call ends well; a batch is recorded whole or comes again',
  eventLog: 'kafka',
  async run(context) {
    const { links } = context.stack;
    const calls = await breakUnderLoad(context, {
      times: 10,
      strike: async () => links.reset({ from: 'usage-ledger', to: 'postgres' }),
      forMs: 50,
      repair: async () => undefined,
    });
    context.checkOutcomes(calls, { ok: true });
  },
};
