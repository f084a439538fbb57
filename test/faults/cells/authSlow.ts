import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'auth-slow',
  group: 'auth',
  breaks: 'auth answers after 800 ms, past the deadline of 500 ms',
  holds: 'known keys go on; unknown ones get 503 within 1 s and never pass unverified',
  eventLog: 'kafka',
  // The deadline that services have by themselves.
  serviceSettings: { 'model-router': { AUTH_TIMEOUT_MS: '500' } },
  async run(context) {
    const { links } = context.stack;
    const stranger = await context.openAccount({ keys: 5 });
    const calls = await breakUnderLoad(context, {
      strike: async () => {
        await links.become({ from: 'model-router', to: 'auth' }, { delayMs: 400 });
        const refused = await context.startLoad({ calls: 20, keys: stranger.keys }).done;
        context.checkOutcomes(refused, { '503': true });
        const slowest = Math.max(...refused.map(({ startedAt, endedAt }) => endedAt - startedAt));
        context.check(slowest <= 1_000, `an unknown key waits ${slowest} ms for its 503`);
      },
      forMs: 1_000,
      repair: () => links.become({ from: 'model-router', to: 'auth' }, {}),
    });
    context.checkOutcomes(calls, { ok: true });
  },
};
