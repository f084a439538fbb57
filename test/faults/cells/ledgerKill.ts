import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'ledger-kill',
  group: 'ledger',
  breaks: 'kill -9 of the ledger three times in the middle of batches',
  holds: 'every call ends well; nothing is recorded twice',
  eventLog: 'kafka',
  async run(context) {
    const { parts } = context.stack;
    const calls = await breakUnderLoad(context, {
      times: 3,
      strike: () => parts.kill('usage-ledger'),
      forMs: 500,
      repair: () => parts.restart('usage-ledger'),
    });
    context.checkOutcomes(calls, { ok: true });
  },
};
