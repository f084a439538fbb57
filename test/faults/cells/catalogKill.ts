import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'catalog-kill',
  group: 'catalog',
  breaks: 'kill -9 of the catalog, back after 4 s',
  holds: 'every call is served by the last good prices; /v1/models answers 502',
  eventLog: 'embedded',
  async run(context) {
    const { parts } = context.stack;
    const calls = await breakUnderLoad(context, {
      strike: async () => {
        await parts.kill('catalog');
        const { status } = await context.ask('/models');
        context.check(status === 502, `GET /v1/models answers ${status} without a catalog`);
      },
      forMs: 4_000,
      repair: () => parts.restart('catalog'),
    });
    context.checkOutcomes(calls, { ok: true });
  },
};
