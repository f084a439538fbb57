import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'engine-lost',
  group: 'engines',
  breaks: 'the packets of one of two engine processes are lost for 8 s, with no word of it',
  holds: 'streams there end in an error event at the deadline, and soon all calls go to the other',
  eventLog: 'kafka',
  async run(context) {
    const { links } = context.stack;
    const calls = await breakUnderLoad(context, {
      load: { tokens: [1, 200] },
      strike: () => links.become({ to: 'engines-1' }, { blackHole: true }),
      forMs: 8_000,
      repair: async () => {
        links.reset({ to: 'engines-1' });
        await links.become({ to: 'engines-1' }, {});
      },
    });
    context.checkOutcomes(calls, { ok: true, error_event: true, '500': true, '503': true });
    const failed = calls.filter(({ outcome }) => outcome !== 'ok').length;
    context.check(failed <= context.calls / 3, `${failed} calls failed though one engine was there`);
  },
};
