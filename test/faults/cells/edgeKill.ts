import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'edge-kill',
  group: 'edge',
  breaks: 'kill -9 of the edge three times while streams run',
  holds: 'the router sees its clients leave: what the engine did is charged, and all else ends well',
  eventLog: 'embedded',
  async run(context) {
    const { parts } = context.stack;
    const calls = await breakUnderLoad(context, {
      times: 3,
      load: { tokens: [1, 300] },
      strike: () => parts.kill('edge'),
      forMs: 300,
      repair: () => parts.restart('edge'),
    });
    context.allowUnknown(calls);
    context.checkOutcomes(calls, { ok: true, broken: true, '503': true });
  },
};
