import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readTotals } from '../books/readLedger.ts';
import { breakUnderLoad } from '../breakUnderLoad.ts';
import type { CellTable } from '../cell.ts';
import type { CellContext } from '../cellContext.ts';
import { disturb, type Fault, freeze, kill, reset } from '../fault.ts';
import { startReplica } from '../stack/secondRedis.ts';

const appendOnlyFile = (dataDir: string): string => join(dataDir, 'redis', 'appendonlydir');

/** Redis dies, and comes back without its file. */
export const loseFile: Fault = {
  ...kill('redis'),
  async strike({ stack: { parts, dataDir } }) {
    await parts.kill('redis');
    await rm(appendOnlyFile(dataDir), { recursive: true });
  },
};

const TAIL_MS = 2_000;

/** Redis dies, and comes back with its file as it was `TAIL_MS` before. */
const loseTail: Fault = {
  ...kill('redis'),
  async strike({ stack: { parts, dataDir } }) {
    const file = appendOnlyFile(dataDir);
    const copy = join(dataDir, 'redis-copy');
    await cp(file, copy, { recursive: true });
    await pause(TAIL_MS);
    await parts.kill('redis');
    await rm(file, { recursive: true });
    await cp(copy, file, { recursive: true });
  },
};

/** Redis takes no more memory until its calls have left it, and a little longer. */
const fillRedis: Fault = {
  async strike(context) {
    const { redis } = context.stack;
    await redis.config('SET', 'maxmemory', '1');
    const calls = `{${context.account.workspaceId}}:calls`;
    await context.until('every call to leave a full Redis', async () => (await redis.hlen(calls)) === 0);
  },
  repair: async ({ stack }) => void (await stack.redis.config('SET', 'maxmemory', '0')),
};

const ONE_ADDRESS = 'it leads the one address to a replica; test/redisCluster.deep.test.ts demotes a master';
const NO_PROXY = 'no proxy stands before the nodes of a cluster';
const HAS_REPLICA = 'a replica has what the file lacks and takes over; test/redisCluster.deep.test.ts empties a master';

export const redis: CellTable = {
  'redis-kill': {
    breaks: 'kill -9 of Redis, back after 3 s with its file',
    holds:
      'new calls get 503 and are not admitted; streams under way end well and are settled; serves again within 5 s',
    eventLog: 'embedded',
    fault: kill('redis'),
    forMs: 3_000,
    load: { tokens: [1, 200] },
    ends: { ok: true, '503': true },
  },
  'redis-freeze': {
    breaks: 'SIGSTOP of Redis for 3 s',
    holds: 'new calls get 503 within their deadline; streams under way end well; what was held in vain is released',
    eventLog: 'embedded',
    fault: freeze('redis'),
    forMs: 3_000,
    load: { tokens: [1, 200] },
    ends: { ok: true, '503': true },
  },
  'redis-slow': {
    breaks: 'every answer of Redis comes 1.2 s late for 5 s, past its deadline',
    holds: '200 or 503; an admission that came too late holds nothing in the end',
    eventLog: 'embedded',
    notOnCluster: NO_PROXY,
    fault: disturb({ to: 'redis' }, { delayMs: 600 }),
    forMs: 5_000,
    ends: { ok: true, '503': true },
  },
  'redis-held-replies': {
    breaks: 'Redis does what it is told for 2 s, and its answers never arrive',
    holds: 'admissions nobody waited for are taken back, and nothing is settled twice',
    eventLog: 'kafka',
    notOnCluster: NO_PROXY,
    fault: disturb({ to: 'redis' }, { holdReplies: true }),
    forMs: 2_000,
    ends: { ok: true, '503': true },
  },
  'redis-cut': {
    breaks: 'the router’s connection to Redis is reset ten times',
    holds: '200 or 503; a script that ran unseen is not run twice',
    eventLog: 'kafka',
    notOnCluster: NO_PROXY,
    fault: reset({ to: 'redis' }),
    forMs: 50,
    times: 10,
    ends: { ok: true, '503': true },
  },
  'redis-full': {
    breaks: 'Redis is at its maxmemory for some seconds while calls run, and the ledger is well',
    holds: 'new calls get 503; calls under way end, are recorded and leave Redis; serves again within 5 s of room',
    eventLog: 'embedded',
    notOnCluster: 'each node has a limit of its own; test/redisCluster.deep.test.ts runs the same scripts on one',
    fault: fillRedis,
    forMs: 1_000,
    load: { tokens: [1, 200] },
    ends: { ok: true, '503': true },
    also: (context) => {
      context.check(
        context.records.some(({ outcome }) => outcome === '503'),
        'no call was refused',
      );
      context.checkRecovery(5_000);
    },
  },
  'redis-connections-lost': {
    breaks: 'nothing passes any more, for good, on the connections to Redis; nobody closes them, and new ones work',
    holds: 'a router connects anew by itself, and nothing is charged twice',
    eventLog: 'kafka',
    notOnCluster: NO_PROXY,
    fault: { strike: async ({ stack }) => stack.links.lose({ to: 'redis' }), repair: async () => undefined },
    forMs: 0,
    ends: { ok: true, '503': true },
  },
  'redis-demoted': {
    breaks: 'a replica is promoted and the old primary becomes its replica; connections stay up, the address moves',
    holds: 'routers leave the old one by themselves and serve again within 5 s; charges are in every balance',
    eventLog: 'embedded',
    notOnCluster: ONE_ADDRESS,
    serviceSettings: {},
    run: (context) => changePrimary(context, { isDemoted: true }),
  },
  'redis-host-lost': {
    breaks: 'the host of Redis is gone without a word, for good, and its replica takes over behind the same name',
    holds: 'routers leave the dead connections by themselves and serve again within 5 s',
    eventLog: 'embedded',
    notOnCluster: ONE_ADDRESS,
    serviceSettings: {},
    run: (context) => changePrimary(context, { isDemoted: false }),
  },
  'wallet-evicted': {
    breaks: 'a wallet, the months or the counter of a key is deleted in Redis several times a second, under load',
    holds:
      'calls go on, or get 503 where the ledger has no time; no counter stays wrong, and no workspace is overspent',
    eventLog: 'kafka',
    run: evictCounters,
  },
  'redis-empty': {
    breaks: 'kill -9 of Redis, back after 2 s without its file, while streams run',
    holds: 'new calls get 503 until balances and holds are rebuilt; the streams’ charges are in every balance',
    eventLog: 'kafka',
    notOnCluster: HAS_REPLICA,
    fault: loseFile,
    forMs: 2_000,
    load: { tokens: [1, 1_500] },
    ends: { ok: true, '503': true },
  },
  'redis-empty-last-cents': {
    breaks: 'Redis comes back without its file three times, under streams of a workspace that runs out of credit',
    holds: 'in the end no more is spent than was given',
    eventLog: 'embedded',
    notOnCluster: HAS_REPLICA,
    run: runOutOfCredit,
  },
  'redis-tail-lost': {
    breaks: 'Redis dies and comes back as it was 2 s before, as a replica that lagged does',
    holds:
      'what it forgot is in every balance again; nothing it forgot is held, and nothing it remembers is charged twice',
    eventLog: 'embedded',
    notOnCluster: HAS_REPLICA,
    fault: loseTail,
    forMs: 200,
    load: { tokens: [1, 600] },
    ends: { ok: true, '503': true },
  },
};

/** About half of what the calls of a cell cost. */
const CREDIT = 20_000_000n;

async function runOutOfCredit(context: CellContext): Promise<void> {
  const { ledger } = context.stack;
  const { workspaceId, keys } = await context.openAccount({ creditNanoUsd: CREDIT });
  const calls = await breakUnderLoad(context, {
    fault: loseFile,
    forMs: 300,
    times: 3,
    load: { keys, tokens: [50, 400], maxTokens: 400 },
  });
  context.checkOutcomes(calls, { ok: true, '402': true, '503': true });
  context.check(
    calls.some(({ outcome }) => outcome === '402'),
    'the credit never ran out',
  );
  await context.until('every row', async () => {
    const { hourlyRequests } = await readTotals(ledger, [workspaceId]);
    return hourlyRequests >= calls.filter(({ isAdmitted }) => isAdmitted).length;
  });
  const { byWorkspace } = await readTotals(ledger, [workspaceId]);
  const spent = byWorkspace.get(workspaceId) ?? 0n;
  context.check(spent <= CREDIT, `${spent} nano-dollars are spent, and ${CREDIT} were given`);
}

/** Within 5 s of what happened: the routers have no less to do than after a loss. */
const SERVES_WITHIN_MS = 5_000;

async function changePrimary(context: CellContext, { isDemoted }: { isDemoted: boolean }): Promise<void> {
  const { stack } = context;
  const replica = await startReplica(stack);
  const calls = await breakUnderLoad(context, {
    fault: {
      async strike() {
        if (!isDemoted) stack.links.lose({ to: 'redis' });
        await replica.promote();
        stack.links.redirect({ to: 'redis' }, replica.port);
        if (isDemoted) await replica.demoteFormer();
        replica.takeOver();
      },
      repair: async () => undefined,
    },
    forMs: 0,
    load: { tokens: [1, 600] },
  });
  context.checkRecovery(SERVES_WITHIN_MS);
  context.checkOutcomes(calls, { ok: true, '503': true });
}

const EVICTED_EVERY_MS: [number, number] = [20, 200];

async function evictCounters(context: CellContext): Promise<void> {
  const { random, stack } = context;
  const poor = await context.openAccount({ creditNanoUsd: CREDIT });
  const half = Math.ceil(context.calls / 2);
  const load = context.startLoad({ calls: half, tokens: [1, 200] });
  const poorLoad = context.startLoad({ calls: half, keys: poor.keys, tokens: [50, 400], maxTokens: 400 });
  let evicted = 0;
  while (load.sent + poorLoad.sent < 2 * half || load.open + poorLoad.open > 0) {
    const { workspaceId, keys } = random.share() < 0.5 ? poor : context.account;
    const names = ['wallet', 'months', `key:${keys[random.between(0, keys.length - 1)]?.keyId}`];
    evicted += await stack.redis.del(`{${workspaceId}}:${names[random.between(0, names.length - 1)]}`);
    await pause(random.between(...EVICTED_EVERY_MS));
  }
  context.checkOutcomes(await load.done, { ok: true, '503': true });
  const calls = await poorLoad.done;
  context.checkOutcomes(calls, { ok: true, '402': true, '503': true });
  context.check(
    calls.some(({ outcome }) => outcome === '402'),
    'the credit never ran out',
  );
  context.check(evicted > 0, 'nothing was evicted');
  context.notes.push(`${evicted} counters were evicted`);
  await context.repaired();
}
