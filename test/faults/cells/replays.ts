import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'replays',
  group: 'broker',
  breaks: 'the ledger’s offsets go back to the beginning three times, as after a restored backup',
  holds: 'every event that comes again changes nothing',
  eventLog: 'kafka',
  async run(context) {
    const { ledger, parts } = context.stack;
    const calls = await breakUnderLoad(context, {
      times: 3,
      strike: async () => {
        await ledger.query('UPDATE event_offset SET next_offset = 0');
        // Where it stands is asked anew when partitions are assigned.
        await parts.kill('usage-ledger');
      },
      forMs: 200,
      repair: () => parts.restart('usage-ledger'),
    });
    context.checkOutcomes(calls, { ok: true });
  },
};
