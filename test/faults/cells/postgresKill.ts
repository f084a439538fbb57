import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'postgres-kill',
  group: 'postgres',
  breaks: 'kill -9 of Postgres three times while it takes in rows, back after a second',
  holds: 'every call ends well, as keys are known for 30 s; no row that was committed is gone',
  eventLog: 'kafka',
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
