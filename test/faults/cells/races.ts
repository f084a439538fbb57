import { setTimeout as pause } from 'node:timers/promises';
import { SERVICE_NAMES } from '@turnpike/config/services';
import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { CellTable } from '../cell.ts';
import type { CellContext } from '../cellContext.ts';
import type { LoadOptions } from '../load/startLoad.ts';
import { LEASE_MS } from '../stack/startFaultStack.ts';

export const races: CellTable = {
  anything: {
    breaks: 'eight times two drawn parts at once are killed or frozen, and come back at drawn moments',
    holds: 'the books',
    eventLog: 'kafka',
    run: breakAnything,
  },
  'rolling-restart': {
    breaks: 'every service is ended by SIGTERM and started again, one after the other, under streams of seconds',
    holds: 'no stream is cut; only what comes while a single replica is away is refused',
    eventLog: 'kafka',
    run: restartInTurn,
  },
  'settle-versus-sweep': {
    breaks: 'the leases of running calls end in Redis all the time, so that the sweeper takes calls as they settle',
    holds: 'a call that ends well is charged once, and one that was swept gives back its hold once',
    eventLog: 'embedded',
    run: endLeases,
  },
  twins: {
    breaks:
      'two of every service behind load balancers; kill -9 of each router and each ledger in turn, for two leases',
    holds: 'the other router settles its own calls and sweeps those of the dead one; the other ledger reads on',
    eventLog: 'kafka',
    replicas: 2,
    serviceSettings: {},
    run: killTwins,
  },
};

const PARTS = [...SERVICE_NAMES, 'postgres', 'redis', 'kafka'] as const;
const ROUNDS = 8;
const LONGEST_MS = 2_500;

async function breakAnything(context: CellContext): Promise<void> {
  const { parts } = context.stack;
  const { random } = context;
  const load = context.startLoad({ calls: context.calls, tokens: [1, 200] });
  const strike = async (): Promise<void> => {
    const part = PARTS[random.between(0, PARTS.length - 1)] ?? 'edge';
    const [isKill, forMs] = [random.share() < 0.5, random.between(100, LONGEST_MS)];
    if (parts.isBroken(part)) return;
    if (isKill) await parts.kill(part);
    else parts.freeze(part);
    await pause(forMs);
    if (isKill) await parts.restart(part);
    else parts.thaw(part);
  };
  for (let round = 0; round < ROUNDS; round += 1) await Promise.all([strike(), strike()]);
  await context.repaired();
  const calls = await load.done;
  const failed = calls.filter(({ outcome }) => outcome !== 'ok').length;
  context.rules.unknownAtMost = failed;
  context.checkOutcomes(calls, { ok: true, error_event: true, broken: true, '500': true, '503': true });
}

const RESTARTED = ['usage-ledger', 'catalog', 'auth', 'model-router', 'edge'] as const;

async function restartInTurn(context: CellContext): Promise<void> {
  const { parts } = context.stack;
  const load = context.startLoad({ calls: context.calls, tokens: [1, 600] });
  for (const [index, service] of RESTARTED.entries()) {
    await load.untilSent(Math.floor((context.calls * (index + 1)) / (RESTARTED.length + 1)));
    await parts.end(service);
    await parts.restart(service);
    await context.repaired();
  }
  const calls = await load.done;
  const isCut = ({ outcome, callId }: (typeof calls)[number]): boolean => outcome === 'broken' && callId !== undefined;
  context.check(!calls.some(isCut), `${calls.filter(isCut).length} calls were cut that had begun`);
  context.checkOutcomes(calls, { ok: true, '503': true, broken: true });
}

const LEASES_END_EVERY_MS = 20;
/** Long calls of few tokens: the sweeper meets them under way, and the machine can carry them. */
const LONG_CALLS = { tokens: [1, 120], interTokenMs: 30 } satisfies Partial<LoadOptions>;

async function endLeases(context: CellContext): Promise<void> {
  const { redis } = context.stack;
  const calls = `{${context.account.workspaceId}}:calls`;
  const load = context.startLoad({ calls: context.calls, ...LONG_CALLS });
  while (load.sent < context.calls || load.open > 0) {
    for (const callId of await redis.zrange(calls, 0, -1)) await redis.zadd(calls, 'XX', 0, callId);
    await pause(LEASES_END_EVERY_MS);
  }
  const ended = await load.done;
  // A lease that is lost while the call runs ends it; nobody may take it for whole.
  context.checkOutcomes(ended, { ok: true, error_event: true, '500': true });
  const swept = ended.filter(({ outcome }) => outcome === 'error_event' || outcome === '500');
  context.check(swept.length > 0, 'no call was swept while it ran');
  context.notes.push(`${swept.length} of ${ended.length} calls were swept while they ran`);
  context.rules.unknownAtMost = swept.length;
  await context.repaired();
}

const TWINS = ['model-router', 'usage-ledger', 'model-router-2', 'usage-ledger-2'] as const;

async function killTwins(context: CellContext): Promise<void> {
  const { parts } = context.stack;
  let turn = 0;
  const next = (): string => TWINS[turn % TWINS.length] ?? 'model-router';
  const calls = await breakUnderLoad(context, {
    fault: {
      strike: () => parts.kill(next()),
      async repair() {
        await parts.restart(next());
        turn += 1;
      },
    },
    // The other one has to sweep, and to read, before this one is back.
    forMs: 2 * LEASE_MS,
    times: TWINS.length,
    load: { tokens: [1, 300], perSecond: 30 },
  });
  context.allowUnknownAtStrikes(calls);
  context.checkOutcomes(calls, { ok: true, broken: true, '503': true });
}
