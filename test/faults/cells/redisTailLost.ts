import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

const TAIL_MS = 2_000;

export const cell: Cell = {
  name: 'redis-tail-lost',
  group: 'redis',
  breaks: 'Redis dies and comes back as it was 2 s before, as a replica that lagged does',
  holds:
    'what it forgot is in every balance again; nothing it forgot is held, and nothing it remembers is charged twice',
  eventLog: 'embedded',
  async run(context) {
    const { parts, dataDir } = context.stack;
    const file = join(dataDir, 'redis', 'appendonlydir');
    const copy = join(dataDir, 'redis-copy');
    const calls = await breakUnderLoad(context, {
      load: { tokens: [1, 600] },
      strike: async () => {
        await cp(file, copy, { recursive: true });
        await pause(TAIL_MS);
        await parts.kill('redis');
        await rm(file, { recursive: true });
        await cp(copy, file, { recursive: true });
      },
      forMs: 200,
      repair: () => parts.restart('redis'),
    });
    context.checkOutcomes(calls, { ok: true, '503': true });
  },
};
