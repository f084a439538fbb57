import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'broker-kill',
  group: 'broker',
  breaks: 'kill -9 of the Kafka broker under load, back after 4 s',
  holds: 'every call ends well, as if nothing had happened',
  eventLog: 'kafka',
  async run(context) {
    const { parts } = context.stack;
    const calls = await breakUnderLoad(context, {
      strike: () => parts.kill('kafka'),
      forMs: 4_000,
      repair: () => parts.restart('kafka'),
    });
    context.checkOutcomes(calls, { ok: true });
  },
};
