import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'redis-empty',
  group: 'redis',
  breaks: 'kill -9 of Redis, back after 2 s without its file, while streams run',
  holds: 'new calls get 503 until balances and holds are rebuilt; the streams’ charges are in every balance',
  eventLog: 'kafka',
  async run(context) {
    const { parts, dataDir } = context.stack;
    const calls = await breakUnderLoad(context, {
      load: { tokens: [1, 1_500] },
      strike: async () => {
        await parts.kill('redis');
        await rm(join(dataDir, 'redis', 'appendonlydir'), { recursive: true });
      },
      forMs: 2_000,
      repair: () => parts.restart('redis'),
    });
    context.checkOutcomes(calls, { ok: true, '503': true });
  },
};
