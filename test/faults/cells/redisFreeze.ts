import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'redis-freeze',
  group: 'redis',
  breaks: 'SIGSTOP of Redis for 3 s',
  holds: 'new calls get 503 within their deadline; streams under way end well; what was held in vain is released',
  eventLog: 'embedded',
  async run(context) {
    const { parts } = context.stack;
    const calls = await breakUnderLoad(context, {
      load: { tokens: [1, 200] },
      strike: async () => parts.freeze('redis'),
      forMs: 3_000,
      repair: async () => parts.thaw('redis'),
    });
    context.checkOutcomes(calls, { ok: true, '503': true });
  },
};
