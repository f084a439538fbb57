import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'ledger-freeze',
  group: 'ledger',
  breaks: 'SIGSTOP of the ledger for 8 s',
  holds: 'every call ends well; its partitions come back to it',
  eventLog: 'kafka',
  async run(context) {
    const { parts } = context.stack;
    const calls = await breakUnderLoad(context, {
      strike: async () => parts.freeze('usage-ledger'),
      forMs: 8_000,
      repair: async () => parts.thaw('usage-ledger'),
    });
    context.checkOutcomes(calls, { ok: true });
  },
};
