import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'postgres-kill-embedded',
  group: 'postgres',
  breaks: 'kill -9 of Postgres three times while it is the event log as well',
  holds: 'every call ends well; an event that was acknowledged has its row',
  eventLog: 'embedded',
  async run(context) {
    const { parts } = context.stack;
    const calls = await breakUnderLoad(context, {
      times: 3,
      strike: () => parts.kill('postgres'),
      forMs: 1_000,
      repair: () => parts.restart('postgres'),
    });
    context.checkOutcomes(calls, { ok: true });
  },
};
