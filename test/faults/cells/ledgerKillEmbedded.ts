import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'ledger-kill-embedded',
  group: 'ledger',
  breaks: 'kill -9 of the ledger three times, and with it of the event log',
  holds: 'every call ends well; a batch whose answer was lost comes again and counts once',
  eventLog: 'embedded',
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
