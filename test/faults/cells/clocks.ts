import { readRows } from '../books/readLedger.ts';
import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { CellTable } from '../cell.ts';
import type { AllowedOutcomes, CellContext } from '../cellContext.ts';
import type { Fault } from '../fault.ts';
import { type FakeClock, fakeClock } from '../stack/fakeClock.ts';
import { breakMedia } from './media.ts';

/** Largest difference between clocks of one region at which nothing is refused. */
const APART_MS = 300_000;
/** Longer than any session or lease in Redis. */
const BEYOND_LEASES_MS = 60_000;
const FOR_MS = 8_000;
const STANDS_STILL_MS = 12_000;
const SERVES_WITHIN_MS = 5_000;

const REFUSED = { ok: true, '503': true } as const;

export const clocks: CellTable = {
  'clock-router-back': {
    breaks: 'the clock of the router is set 5 minutes back, and forward again after 8 s',
    holds: 'every call ends well; no row ends before it starts',
    eventLog: 'embedded',
    serviceSettings: {},
    run: (context) => jump(context, { part: 'model-router', aheadMs: -APART_MS, ends: { ok: true } }),
  },
  'clock-router-forward': {
    breaks: 'the clock of the router is set 5 minutes forward, and back again after 8 s',
    holds: 'every call ends well; no row ends before it starts',
    eventLog: 'embedded',
    serviceSettings: {},
    run: (context) => jump(context, { part: 'model-router', aheadMs: APART_MS, ends: { ok: true } }),
  },
  'clock-redis-forward': {
    breaks: 'the clock of Redis is set a minute forward, so that every session ends early, and back after 8 s',
    holds: 'calls get 503 at most; admitted again within 5 s, with the clock still ahead',
    eventLog: 'embedded',
    notOnCluster: 'the nodes of a cluster have no clocks of their own here',
    serviceSettings: {},
    run: (context) => jump(context, { part: 'redis', aheadMs: BEYOND_LEASES_MS, ends: REFUSED }),
  },
  'clock-postgres-back': {
    breaks: 'the clock of Postgres is set 5 minutes back, and forward again after 8 s',
    holds: 'every call ends well',
    eventLog: 'embedded',
    serviceSettings: {},
    run: (context) => jump(context, { part: 'postgres', aheadMs: -APART_MS, ends: { ok: true } }),
  },
  'clock-postgres-forward': {
    breaks: 'the clock of Postgres is set 5 minutes forward, and back again after 8 s',
    holds: 'every call ends well',
    eventLog: 'embedded',
    serviceSettings: {},
    run: (context) => jump(context, { part: 'postgres', aheadMs: APART_MS, ends: { ok: true } }),
  },
  'clock-media-jobs-back': {
    breaks: 'the clock of media-jobs is set 5 minutes back, and forward again after 8 s',
    holds: 'every media call ends well, or gets 503; each job is charged once',
    eventLog: 'embedded',
    serviceSettings: {},
    async run(context) {
      const clock = await fakeClock(context.stack, 'media-jobs');
      const fault = toFault(clock, -APART_MS);
      await breakMedia(context, { fault, forMs: FOR_MS, perSecond: 5, ends: REFUSED });
      context.checkRecovery(SERVES_WITHIN_MS);
    },
  },
  'router-stands-still': {
    breaks:
      'the router stands still for 12 s, as a virtual machine that is paused: by both of its clocks no time has passed then',
    holds: 'what it finishes afterwards is charged once or not at all; calls are admitted again within 5 s',
    eventLog: 'embedded',
    serviceSettings: {},
    run: standStill,
  },
};

function toFault(clock: FakeClock, aheadMs: number): Fault {
  return { strike: () => clock.setAhead(aheadMs), repair: () => clock.setAhead(0) };
}

/** Sets a part's clock to another time under load, and back. */
async function jump(
  context: CellContext,
  { part, aheadMs, ends }: { part: string; aheadMs: number; ends: AllowedOutcomes },
): Promise<void> {
  const clock = await fakeClock(context.stack, part);
  const fault = toFault(clock, aheadMs);
  const calls = await breakUnderLoad(context, {
    fault: {
      ...fault,
      async strike() {
        await fault.strike(context);
        await context.checkServing(SERVES_WITHIN_MS);
      },
    },
    forMs: FOR_MS,
    load: { tokens: [1, 100], perSecond: 30 },
  });
  context.checkRecovery(SERVES_WITHIN_MS);
  context.checkOutcomes(calls, ends);
  const rows = await readRows(context.stack.ledger, [context.account.workspaceId]);
  const backwards = rows.filter(({ startedAtMs, endedAtMs }) => endedAtMs < startedAtMs);
  context.check(backwards.length === 0, `${backwards.length} rows end before they start`);
}

async function standStill(context: CellContext): Promise<void> {
  const { stack } = context;
  const clock = await fakeClock(stack, 'model-router');
  const calls = await breakUnderLoad(context, {
    fault: {
      strike: () => stack.parts.freeze('model-router'),
      async repair() {
        await clock.setAhead(-STANDS_STILL_MS, -STANDS_STILL_MS);
        stack.parts.thaw('model-router');
      },
    },
    forMs: STANDS_STILL_MS,
    load: { tokens: [1, 300], perSecond: 30 },
  });
  context.checkRecovery(SERVES_WITHIN_MS);
  context.allowUnknownAtStrikes(calls);
  context.checkOutcomes(calls, { ok: true, error_event: true, broken: true, '500': true, '503': true });
}
