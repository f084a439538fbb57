import { setTimeout as pause } from 'node:timers/promises';
import { SERVICE_NAMES } from '@turnpike/config/services';
import { readRows } from '../books/readLedger.ts';
import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { CellTable } from '../cell.ts';
import type { CellContext } from '../cellContext.ts';
import type { LoadOptions } from '../load/startLoad.ts';
import { LEASE_MS } from '../stack/startFaultStack.ts';
import { REFUSED } from './media.ts';

export const races: CellTable = {
  anything: {
    breaks:
      'eight times two drawn parts at once are killed or frozen under chats and media calls, and come back at drawn moments',
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
    breaks:
      'running calls are put under a session that has lapsed, all the time, so that they are swept as they settle',
    holds: 'a call that ends well is charged once, whether or not it was taken for lost meanwhile',
    eventLog: 'embedded',
    notOnCluster: 'it changes calls in Redis by transactions on one connection',
    run: strandCalls,
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
  const mediaLoad = context.startMedia({ calls: context.calls / 20, perSecond: 3 });
  const routerDiedAt: number[] = [];
  const strike = async (): Promise<void> => {
    const part = PARTS[random.between(0, PARTS.length - 1)] ?? 'edge';
    const [isKill, forMs] = [random.share() < 0.5, random.between(100, LONGEST_MS)];
    if (parts.isBroken(part)) return;
    if (isKill) await parts.kill(part);
    else await parts.freeze(part);
    if (isKill && part === 'model-router') routerDiedAt.push(Date.now());
    await pause(forMs);
    if (isKill) await parts.restart(part);
    else parts.thaw(part);
  };
  for (let round = 0; round < ROUNDS; round += 1) await Promise.all([strike(), strike()]);
  await context.repaired();
  const calls = await load.done;
  // No other part knows alone how a chat ended.
  context.allowUnknownAtStrikes(calls, routerDiedAt);
  context.checkOutcomes(calls, { ok: true, error_event: true, broken: true, '500': true, '503': true });
  context.checkMediaOutcomes(await mediaLoad.done, { ok: true, failed: true, ...REFUSED });
  await context.untilMediaIsOver();
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

const STRANDED_EVERY_MS = 50;
/** Long calls of few tokens: the sweeper meets them under way, and the machine can carry them. */
const LONG_CALLS = { tokens: [1, 120], interTokenMs: 30 } satisfies Partial<LoadOptions>;
/** A session that no router has. */
const NOBODYS = 'nobodys';

async function strandCalls(context: CellContext): Promise<void> {
  const { redis, ledger } = context.stack;
  const { workspaceId } = context.account;
  const calls = `{${workspaceId}}:calls`;
  const load = context.startLoad({ calls: context.calls, ...LONG_CALLS });
  const takenForLost = new Set<string>();
  while (load.sent < context.calls || load.open > 0) {
    for (const callId of await redis.hkeys(calls)) {
      // Both, or neither where it has just been dropped.
      const strand = redis
        .multi()
        .hset(calls, callId, NOBODYS)
        .hset(`{${workspaceId}}:call:${callId}`, 'session', NOBODYS);
      await redis.watch(calls);
      if (await redis.hexists(calls, callId)) await strand.exec();
      else await redis.unwatch();
    }
    for (const { callId, status, reason } of await readRows(ledger, [workspaceId]))
      if (status === 'unknown' && reason === 'router_gone') takenForLost.add(callId);
    await pause(STRANDED_EVERY_MS);
  }
  context.checkOutcomes(await load.done, { ok: true });
  context.check(takenForLost.size > 0, 'no call was swept while it ran');
  context.notes.push(`${takenForLost.size} calls were taken for lost while they ran`);
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
