import { setTimeout as pause } from 'node:timers/promises';
import { request } from 'undici';
import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { CellTable } from '../cell.ts';
import type { CellContext } from '../cellContext.ts';
import { PRELOADED, troubleDisk } from '../disk/troubleDisk.ts';

const HUNG_MS = 600_000;
const SLOW_MS = 500;
const MANY_CALLS = 10_000;
const REFUSED_WITHIN_MS = 2_000;
const ADMITS_WITHIN_MS = 5_000;
/** Until the operation under way is seen to hang, and that long a router's end may take while its disk hangs. */
const SEEN_WITHIN_MS = 3_000;
const ENDS_WITHIN_MS = 45_000;

export const disk: CellTable = {
  'disk-hangs': {
    breaks: "no operation of the router's spool on its disk ends, for 15 s, or 60 s with --full",
    holds:
      'streams end well; new calls get 503 within 2 s, /ready names the disk, and 5 s after it is back calls are admitted',
    eventLog: 'embedded',
    serviceSettings: PRELOADED,
    run: hangDisk,
  },
  'disk-hangs-at-the-end': {
    breaks: "SIGTERM to the router while no operation of its spool's disk ends",
    holds: 'streams end well, the process is gone while the disk still hangs, and nothing is lost',
    eventLog: 'embedded',
    serviceSettings: PRELOADED,
    run: endOnHungDisk,
  },
  'disk-slow': {
    breaks: "every operation of the router's spool takes half a second, for 10 s",
    holds: 'calls are admitted and end well',
    eventLog: 'embedded',
    serviceSettings: PRELOADED,
    run: slowDisk,
  },
  'media-disk-hangs': {
    breaks: "no operation of the media-jobs' spool on its disk ends, for 15 s",
    holds: 'new calls get 503, /ready names the disk, and every job is charged once',
    eventLog: 'embedded',
    serviceSettings: PRELOADED,
    run: hangMediaDisk,
  },
};

async function findMissing({ stack }: CellContext, service: 'model-router' | 'media-jobs'): Promise<string> {
  const { body } = await request(`${stack.internalUrlOf(service)}/ready`);
  return body.text();
}

async function checkNamed(context: CellContext, service: 'model-router' | 'media-jobs'): Promise<void> {
  const isNamed = async (): Promise<boolean> =>
    (await findMissing(context, service)).includes("the spool's disk: hangs");
  await context.until(`${service} to name the disk in /ready`, isNamed, SEEN_WITHIN_MS);
}

async function hangDisk(context: CellContext): Promise<void> {
  const trouble = await troubleDisk(context, 'model-router', 'spool');
  try {
    const calls = await breakUnderLoad(context, {
      fault: {
        async strike() {
          await trouble.slowDown(HUNG_MS);
          await checkNamed(context, 'model-router');
          const refused = await context.startLoad({ calls: 10, tokens: [1, 5] }).done;
          for (const { outcome, startedAt, endedAt } of refused)
            context.check(
              outcome === '503' && endedAt - startedAt <= REFUSED_WITHIN_MS,
              `a call ended in ${outcome} after ${Math.round(endedAt - startedAt)} ms while the disk hung`,
            );
        },
        repair: () => trouble.recover(),
      },
      forMs: context.calls >= MANY_CALLS ? 60_000 : 15_000,
      load: { tokens: [1, 300] },
    });
    context.checkRecovery(ADMITS_WITHIN_MS);
    context.checkOutcomes(calls, { ok: true, '503': true });
  } finally {
    await trouble.recover();
  }
}

async function endOnHungDisk(context: CellContext): Promise<void> {
  const { parts } = context.stack;
  const trouble = await troubleDisk(context, 'model-router', 'spool');
  try {
    const load = context.startLoad({ calls: context.calls, tokens: [1, 300] });
    await load.untilSent(Math.floor(context.calls / 3));
    await trouble.slowDown(HUNG_MS);
    await checkNamed(context, 'model-router');
    const ending = parts.end('model-router');
    const isGone = await Promise.race([ending.then(() => true), pause(ENDS_WITHIN_MS, false)]);
    context.check(isGone, `the router was not gone ${ENDS_WITHIN_MS / 1_000} s after SIGTERM`);
    await trouble.recover();
    await ending;
    await parts.restart('model-router');
    await context.repaired();
    context.checkOutcomes(await load.done, { ok: true, '503': true });
  } finally {
    await trouble.recover();
  }
}

async function slowDisk(context: CellContext): Promise<void> {
  const trouble = await troubleDisk(context, 'model-router', 'spool');
  try {
    const calls = await breakUnderLoad(context, {
      fault: { strike: () => trouble.slowDown(SLOW_MS), repair: () => trouble.recover() },
      forMs: 10_000,
      load: { tokens: [1, 300] },
    });
    context.checkOutcomes(calls, { ok: true });
  } finally {
    await trouble.recover();
  }
}

async function hangMediaDisk(context: CellContext): Promise<void> {
  const trouble = await troubleDisk(context, 'media-jobs', 'media-spool');
  try {
    const load = context.startMedia({ calls: 60 });
    await load.untilSent(20);
    await trouble.slowDown(HUNG_MS);
    await checkNamed(context, 'media-jobs');
    await pause(15_000);
    await trouble.recover();
    context.checkMediaOutcomes(await load.done, { ok: true, '503': true });
    await context.untilMediaIsOver();
    await context.untilUploadsAreGone();
  } finally {
    await trouble.recover();
  }
}
