import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'client-leaves',
  group: 'clients',
  breaks: 'clients leave whole answers and streams after 0 to 150 ms, many before anything came',
  holds: 'a whole answer is finished and charged in full; nothing is held in the end',
  eventLog: 'kafka',
  async run(context) {
    const calls = await context.startLoad({
      calls: context.calls,
      tokens: [1, 60],
      cut: (random) => ({ afterMs: random.between(0, 150) }),
    }).done;
    context.checkOutcomes(calls, { ok: true, left: true });
    context.allowUnknown(calls);
  },
};
