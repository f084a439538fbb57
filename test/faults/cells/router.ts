import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { readRows } from '../books/readLedger.ts';
import { breakUnderLoad } from '../breakUnderLoad.ts';
import { CannotInject } from '../cannotInject.ts';
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
    holds: 'every stream under way ends well; only calls that come while no router listens get 503',
    eventLog: 'embedded',
    fault: end('model-router'),
    forMs: 100,
    times: 3,
    load: { tokens: [1, 600] },
    ends: { ok: true, '503': true },
  },
  'router-drain-short': {
    breaks: 'SIGTERM to the router three times while streams run that last longer than it lets them, 2 s',
    holds:
      'those end in an error event and are charged what had come; only calls that come while no router listens get 503',
    eventLog: 'embedded',
    serviceSettings: {
      edge: { LIMITS: { STREAM_TIMEOUT_MS: 2_000 } },
      'model-router': { LIMITS: { STREAM_TIMEOUT_MS: 2_000 } },
    },
    fault: end('model-router'),
    forMs: 100,
    times: 3,
    load: { tokens: [1, 600], interTokenMs: 20 },
    // A first event that does not come within the base time is a 500.
    ends: { ok: true, error_event: true, '500': true, '503': true },
    also: (context, calls) =>
      context.check(
        calls.some(({ outcome }) => outcome === 'error_event'),
        'no stream was ended',
      ),
  },
  'router-disk-lost': {
    breaks: 'kill -9 of the router, and its spool is gone, full of events that the frozen broker has not taken',
    holds: 'every event is written again from what Redis keeps beside the call’s record',
    eventLog: 'kafka',
    run: loseSpool,
  },
  'router-and-disk-lost': {
    breaks:
      'kill -9 of one of two routers, for good and with its disk, full of events that the frozen broker has not taken',
    holds:
      'the other admits on; within 20 s every call that ended has its exact charge, kept in Redis, and every other is unknown',
    eventLog: 'kafka',
    replicas: 2,
    serviceSettings: {},
    run: loseRouter,
  },
  'two-on-a-volume': {
    breaks: 'a second router is started on the spool of one that runs, twice, under load',
    holds: 'it refuses to start and says whose the spool is; the first one goes on, and nothing is lost',
    eventLog: 'embedded',
    run: startDouble,
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
  await parts.freeze('kafka');
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

/** So long the broker takes nothing. */
const UNREAD_MS = 1_500;
/** Until another router admits, and until it has had everything of the dead one recorded. */
const SERVES_WITHIN_MS = 5_000;
const RECORDED_WITHIN_MS = 20_000;

async function loseRouter(context: CellContext): Promise<void> {
  const { parts, dataDir, ledger } = context.stack;
  const load = context.startLoad({ calls: context.calls, tokens: [1, 300] });
  await load.untilSent(Math.floor(context.calls * (0.2 + context.random.share() * 0.3)));
  await parts.freeze('kafka');
  await pause(UNREAD_MS);
  await parts.kill('model-router');
  await rm(join(dataDir, 'spool'), { recursive: true });
  await context.checkServing(SERVES_WITHIN_MS);
  const before = [...load.records];
  parts.thaw('kafka');
  const admitted = before.flatMap(({ callId, isAdmitted }) => (isAdmitted && callId !== undefined ? [callId] : []));
  await context.until(
    'a row of every call that had ended',
    async () => {
      const recorded = new Set((await readRows(ledger, [context.account.workspaceId])).map(({ callId }) => callId));
      return admitted.every((callId) => recorded.has(callId));
    },
    RECORDED_WITHIN_MS,
  );
  const calls = await load.done;
  context.allowUnknownAtStrikes(calls);
  context.checkOutcomes(calls, { ok: true, broken: true, '503': true });
  await parts.restart('model-router');
  await context.repaired();
}

/** Long enough for a process to start and to be refused, on a machine that does much else. */
const REFUSED_WITHIN_MS = 30_000;

async function startDouble(context: CellContext): Promise<void> {
  const calls = await breakUnderLoad(context, {
    fault: {
      async strike({ stack: { parts } }) {
        const [port, internalPort] = [await findFreePort(), await findFreePort()];
        const env = { PORT: String(port), INTERNAL_PORT: String(internalPort) };
        const double = parts.startLike('model-router', { name: 'model-router-double', env });
        await context.until('the double to end', async () => double.endedBy() !== undefined, REFUSED_WITHIN_MS);
        const said = await readFile(double.logFile, 'utf8');
        context.check(said.includes('another process uses the spool in'), 'the double did not say whose the spool is');
      },
      repair: async () => undefined,
    },
    forMs: 0,
    times: 2,
    load: { tokens: [1, 300] },
  });
  context.checkOutcomes(calls, { ok: true });
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
    await parts.restart('model-router');
    throw new CannotInject('a small disk of its own. It needs the right to mount a tmpfs: run the cell as root.');
  }
  try {
    await parts.restart('model-router');
    const calls = await breakUnderLoad(context, {
      fault: {
        // The file is as large as the disk: the write of the rest fails.
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
