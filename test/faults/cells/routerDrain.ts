import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'router-drain',
  group: 'router',
  breaks: 'SIGTERM to the router three times while streams of seconds run, as a deployment does',
  holds: 'every stream under way ends well; only calls that come while nobody listens get 503',
  eventLog: 'embedded',
  async run(context) {
    const { parts } = context.stack;
    const calls = await breakUnderLoad(context, {
      times: 3,
      load: { tokens: [1, 600] },
      strike: () => parts.end('model-router'),
      forMs: 100,
      repair: () => parts.restart('model-router'),
    });
    context.checkOutcomes(calls, { ok: true, '503': true });
  },
};
