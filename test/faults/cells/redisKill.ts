import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'redis-kill',
  group: 'redis',
  breaks: 'kill -9 of Redis, back after 3 s with its file',
  holds: 'new calls get 503 and are not admitted; streams under way end well and are settled; serves again within 5 s',
  eventLog: 'embedded',
  async run(context) {
    const { parts } = context.stack;
    const calls = await breakUnderLoad(context, {
      load: { tokens: [1, 200] },
      strike: () => parts.kill('redis'),
      forMs: 3_000,
      repair: () => parts.restart('redis'),
    });
    context.checkOutcomes(calls, { ok: true, '503': true });
    context.check((context.recoveryMs ?? 0) <= 5_000, 'Redis is back, and calls succeed only after 5 s');
  },
};
