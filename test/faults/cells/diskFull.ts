import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { Cell } from '../cell.ts';

const run = promisify(execFile);
const DISK_BYTES = 8 * 1_048_576;
const FULL_MS = 3_000;

export const cell: Cell = {
  name: 'disk-full',
  group: 'router',
  breaks: 'the disk of the spool is full twice, for three seconds each time',
  holds: 'new calls get 503; those under way end well, with their events in Redis until the disk takes them',
  eventLog: 'embedded',
  async run(context) {
    const { parts, dataDir } = context.stack;
    const spool = join(dataDir, 'spool');
    const stranger = join(spool, 'stranger');
    await parts.end('model-router');
    try {
      await run('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', spool]);
    } catch {
      context.notes.push('not possible here: a small disk of its own wants the right to mount one');
      return parts.restart('model-router');
    }
    try {
      await parts.restart('model-router');
      const calls = await breakUnderLoad(context, {
        times: 2,
        load: { tokens: [1, 300] },
        // As much as fits: the write of the rest fails.
        strike: () => writeFile(stranger, Buffer.alloc(DISK_BYTES)).catch(() => undefined),
        forMs: FULL_MS,
        repair: () => rm(stranger),
      });
      context.checkOutcomes(calls, { ok: true, '503': true });
      context.check(
        calls.some(({ outcome }) => outcome === '503'),
        'no call was refused while the disk was full',
      );
      await parts.end('model-router');
    } finally {
      // At once for new openings, even where the router still runs.
      await run('umount', ['-l', spool]);
    }
    await parts.restart('model-router');
  },
};
