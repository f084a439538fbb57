import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'ledger-answers-lost',
  group: 'ledger',
  breaks: 'the ledger takes batches for 3 s, and its answers never reach the router',
  holds: 'every call ends well; batches that come twice count once',
  eventLog: 'embedded',
  async run(context) {
    const { links } = context.stack;
    const calls = await breakUnderLoad(context, {
      strike: () => links.become({ from: 'model-router', to: 'usage-ledger' }, { holdReplies: true }),
      forMs: 3_000,
      repair: async () => {
        links.reset({ from: 'model-router', to: 'usage-ledger' });
        await links.become({ from: 'model-router', to: 'usage-ledger' }, {});
      },
    });
    context.checkOutcomes(calls, { ok: true });
  },
};
