import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'router-freeze',
  group: 'router',
  breaks: 'SIGSTOP of the router for 8 s, longer than a lease, while streams run',
  holds: 'what it finishes afterwards is charged once or not at all; no stream ends as if whole without a charge',
  eventLog: 'embedded',
  async run(context) {
    const { parts } = context.stack;
    let frozenAt = 0;
    const calls = await breakUnderLoad(context, {
      load: { tokens: [1, 300] },
      strike: async () => {
        frozenAt = Date.now();
        parts.freeze('model-router');
      },
      forMs: 8_000,
      repair: async () => parts.thaw('model-router'),
    });
    context.allowUnknownAt([frozenAt], calls);
    context.checkOutcomes(calls, { ok: true, error_event: true, '500': true, '503': true });
  },
};
