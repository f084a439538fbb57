import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'broker-freeze',
  group: 'broker',
  breaks: 'SIGSTOP of the Kafka broker for 12 s, longer than any request to it may take',
  holds: 'every call ends well; what was sent twice is counted once',
  eventLog: 'kafka',
  async run(context) {
    const { parts } = context.stack;
    const calls = await breakUnderLoad(context, {
      strike: async () => parts.freeze('kafka'),
      forMs: 12_000,
      repair: async () => parts.thaw('kafka'),
    });
    context.checkOutcomes(calls, { ok: true });
  },
};
