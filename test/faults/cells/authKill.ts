import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'auth-kill',
  group: 'auth',
  breaks: 'kill -9 of auth, back after 4 s',
  holds: 'known keys go on; unknown ones get 503 auth_service_unavailable within 1 s, /v1/models and /v1/svc/key 502',
  eventLog: 'embedded',
  async run(context) {
    const { parts } = context.stack;
    const stranger = await context.openAccount({ keys: 1 });
    const strangerKey = stranger.keys[0]?.apiKey ?? '';
    const calls = await breakUnderLoad(context, {
      strike: async () => {
        await parts.kill('auth');
        const refused = await context.startLoad({ calls: 20, keys: stranger.keys }).done;
        context.checkOutcomes(refused, { '503': true });
        const isNamed = refused.every(({ error }) => error?.includes('auth_service_unavailable') === true);
        context.check(isNamed, `an unknown key gets ${refused[0]?.error}`);
        const slowest = Math.max(...refused.map(({ startedAt, endedAt }) => endedAt - startedAt));
        context.check(slowest <= 1_000, `an unknown key waits ${slowest} ms for its 503`);
        for (const path of ['/models', '/svc/key']) {
          const { status } = await context.ask(path, strangerKey);
          context.check(status === 502, `GET ${path} answers ${status} without auth`);
        }
      },
      forMs: 4_000,
      repair: () => parts.restart('auth'),
    });
    context.checkOutcomes(calls, { ok: true });
    context.checkOutcomes(await context.startLoad({ calls: 5, keys: stranger.keys }).done, { ok: true });
  },
};
