import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'router-kill',
  group: 'router',
  breaks: 'kill -9 of the router five times while streams run',
  holds: 'connections break; every call id that a client saw has a row, and the holds are gone within two leases',
  eventLog: 'kafka',
  async run(context) {
    const { parts } = context.stack;
    const killedAt: number[] = [];
    const calls = await breakUnderLoad(context, {
      times: 5,
      load: { tokens: [1, 300] },
      strike: async () => {
        await parts.kill('model-router');
        killedAt.push(Date.now());
      },
      forMs: 500,
      repair: () => parts.restart('model-router'),
    });
    context.allowUnknownAt(killedAt, calls);
    context.checkOutcomes(calls, { ok: true, broken: true, '503': true });
  },
};
