import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'engine-kill',
  group: 'engines',
  breaks: 'kill -9 of one of two engine processes while streams run, back after 3 s',
  holds: 'streams that had begun there end in an error event and cost nothing; everything else is served by the other',
  eventLog: 'embedded',
  async run(context) {
    const { parts, simulators } = context.stack;
    let openAtKill = 0;
    const calls = await breakUnderLoad(context, {
      load: { tokens: [1, 300] },
      strike: async () => {
        await simulators[0]?.prepareKill();
        openAtKill = context.open;
        await parts.kill('engines-1');
      },
      forMs: 3_000,
      repair: () => parts.restart('engines-1'),
    });
    context.checkOutcomes(calls, { ok: true, error_event: openAtKill, '500': openAtKill });
  },
};
