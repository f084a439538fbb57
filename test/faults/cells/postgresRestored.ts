import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

const run = promisify(execFile);

export const cell: Cell = {
  name: 'postgres-restored',
  group: 'postgres',
  breaks: 'Postgres dies and comes back as it was seconds before, as after a failover that lost the last commits',
  holds: 'the offsets go back with the rows, so that what was lost is read again',
  eventLog: 'kafka',
  async run(context) {
    const { parts, dataDir } = context.stack;
    const data = join(dataDir, 'postgres');
    const copy = join(dataDir, 'postgres-copy');
    let isCopied = false;
    const calls = await breakUnderLoad(context, {
      times: 2,
      strike: async () => {
        await parts.kill('postgres');
        if (isCopied) {
          await run('rm', ['-rf', data]);
          await run('mv', [copy, data]);
        } else {
          await run('cp', ['-a', data, copy]);
          isCopied = true;
        }
      },
      forMs: 100,
      repair: () => parts.restart('postgres'),
    });
    context.checkOutcomes(calls, { ok: true });
  },
};
