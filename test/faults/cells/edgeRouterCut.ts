import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'edge-router-cut',
  group: 'edge',
  breaks: 'all connections between edge and router are reset five times while streams run',
  holds: 'a stream that has begun is never ended as if it were whole; what has not begun gets 503',
  eventLog: 'kafka',
  async run(context) {
    const { links } = context.stack;
    const calls = await breakUnderLoad(context, {
      times: 5,
      load: { tokens: [1, 300] },
      strike: async () => links.reset({ from: 'edge', to: 'model-router' }),
      forMs: 50,
      repair: async () => undefined,
    });
    context.allowUnknown(calls);
    context.checkOutcomes(calls, { ok: true, broken: true, '503': true });
  },
};
