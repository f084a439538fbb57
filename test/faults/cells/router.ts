import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { CellTable } from '../cell.ts';
import type { CellContext } from '../cellContext.ts';
import { end, freeze, kill } from '../fault.ts';

export const router: CellTable = {
  'router-kill': {
    breaks: 'kill -9 of the router five times while streams run',
    holds: 'connections break; every call id that a client saw has a row, and the holds are gone within two leases',
    eventLog: 'kafka',
    fault: kill('model-router'),
    forMs: 500,
    times: 5,
    load: { tokens: [1, 300] },
    ends: { ok: true, broken: true, '503': true },
    also: (context, calls) => context.allowUnknownAtStrikes(calls),
  },
  'router-freeze': {
    breaks: 'SIGSTOP of the router for 8 s, longer than a lease, while streams run',
    holds: 'what it finishes afterwards is charged once or not at all; no stream ends as if whole without a charge',
    eventLog: 'embedded',
    fault: freeze('model-router'),
    forMs: 8_000,
    load: { tokens: [1, 300] },
    ends: { ok: true, error_event: true, '500': true, '503': true },
    also: (context, calls) => context.allowUnknownAtStrikes(calls),
  },
  'router-drain': {
    breaks: 'SIGTERM to the router three times while streams of seconds run, as a deployment does',
    holds: 'every stream under way ends well; only calls that come while nobody listens get 503',
    eventLog: 'embedded',
    fault: end('model-router'),
    forMs: 100,
    times: 3,
    load: { tokens: [1, 600] },
    ends: { ok: true, '503': true },
  },
  'router-disk-lost': {
    breaks: 'kill -9 of the router, and its spool is gone, full of events that the frozen broker has not taken',
    holds: 'every event is written again from what Redis keeps beside the call’s record',
    eventLog: 'kafka',
    run: loseSpool,
  },
  'disk-full': {
    breaks: 'the disk of the spool is full twice, for three seconds each time',
    holds: 'new calls get 503; those under way end well, with their events in Redis until the disk takes them',
    eventLog: 'embedded',
    run: fillDisk,
  },
};

async function loseSpool(context: CellContext): Promise<void> {
  const { parts, dataDir } = context.stack;
  const fault = kill('model-router');
  parts.freeze('kafka');
  const calls = await breakUnderLoad(context, {
    fault: {
      ...fault,
      async strike() {
        await fault.strike(context);
        await rm(join(dataDir, 'spool'), { recursive: true });
        parts.thaw('kafka');
      },
    },
    forMs: 500,
  });
  context.allowUnknownAtStrikes(calls);
  context.checkOutcomes(calls, { ok: true, broken: true, '503': true });
}

const run = promisify(execFile);
const DISK_BYTES = 8 * 1_048_576;

async function fillDisk(context: CellContext): Promise<void> {
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
      fault: {
        // As much as fits: the write of the rest fails.
        strike: () => writeFile(stranger, Buffer.alloc(DISK_BYTES)).catch(() => undefined),
        repair: () => rm(stranger),
      },
      forMs: 3_000,
      times: 2,
      load: { tokens: [1, 300] },
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
}
