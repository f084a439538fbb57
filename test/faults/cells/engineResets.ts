import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'engine-resets',
  group: 'engines',
  breaks: 'one engine process resets one in eight requests before it says anything',
  holds: '999 of 1,000 calls end well on the other engine, and each is charged once',
  eventLog: 'kafka',
  async run(context) {
    const { simulators } = context.stack;
    await simulators[0]?.addFaults([{ match: { everyNth: 8 }, fault: 'reset_before_headers' }]);
    const calls = await context.startLoad({ calls: context.calls }).done;
    context.checkOutcomes(calls, { ok: true, '500': context.calls / 1_000, '503': context.calls / 1_000 });
  },
};
