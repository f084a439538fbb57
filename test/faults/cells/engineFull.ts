import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'engine-full',
  group: 'engines',
  breaks: 'one of two engine processes refuses every request with 503',
  holds: 'every call is tried once on the other and ends well',
  eventLog: 'embedded',
  async run(context) {
    await context.stack.simulators[0]?.become('draining');
    const calls = await context.startLoad({ calls: context.calls }).done;
    context.checkOutcomes(calls, { ok: true });
  },
};
