import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

export const cell: Cell = {
  name: 'router-disk-lost',
  group: 'router',
  breaks: 'kill -9 of the router, and its spool is gone, full of events that the frozen broker has not taken',
  holds: 'every event is written again from what Redis keeps beside the call’s record',
  eventLog: 'kafka',
  async run(context) {
    const { parts, dataDir } = context.stack;
    let killedAt = 0;
    parts.freeze('kafka');
    const calls = await breakUnderLoad(context, {
      strike: async () => {
        await parts.kill('model-router');
        killedAt = Date.now();
        await rm(join(dataDir, 'spool'), { recursive: true });
        parts.thaw('kafka');
      },
      forMs: 500,
      repair: () => parts.restart('model-router'),
    });
    context.allowUnknownAt([killedAt], calls);
    context.checkOutcomes(calls, { ok: true, broken: true, '503': true });
  },
};
