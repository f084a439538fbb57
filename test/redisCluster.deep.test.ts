import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { redisKeys } from '@turnpike/holds/redis/redisKeys';
import { hashSlotOf } from '@turnpike/holds/redis/shards';
import { aKeyRecord } from '@turnpike/internal-api/aKeyRecord';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { startRedisCluster, type TestRedisCluster } from '@turnpike/test-support/startRedisCluster';
import { until } from '@turnpike/test-support/until';
import type { OpenCall } from '../services/model-router/src/money/call/openCalls.ts';
import { NEWS_CHANNEL } from '../services/model-router/src/placement/routerNews.ts';
import { allCountAll, aTellingRouter } from '../services/model-router/test/aTellingRouter.ts';
import { getBalances } from '../services/usage-ledger/src/balances/getBalances.ts';
import { addCredit } from '../services/usage-ledger/src/credits/addCredit.ts';
import { openTestLedger, type TestLedger } from '../services/usage-ledger/test/openTestLedger.ts';
import { internalHeaders, startTestService, type TestService } from '../services/usage-ledger/test/startTestService.ts';
import { type RouterAccounts, startRouterAccounts } from './support/startRouterAccounts.ts';

// Two routers' accounts in this process on a real Redis Cluster and a real ledger. What was truly
// held and charged is counted here, outside of all three.

const HOLD = 1_000_000n;
const CREDIT = 10n * HOLD;
const CHARGE = 400_000n;
const NOWHERE = 'http://127.0.0.1:9';

let ledger: TestLedger;
let service: TestService;
let cluster: TestRedisCluster;
let folder: string;
let routers: [RouterAccounts, RouterAccounts];
beforeAll(async () => {
  ledger = await openTestLedger();
  service = await startTestService(ledger, { authUrl: NOWHERE, usageQueryTimeoutMs: 5_000 });
});
afterAll(async () => {
  await service.close();
  await ledger.close();
});
beforeEach(async () => {
  cluster = await startRedisCluster();
  folder = await mkdtemp(join(tmpdir(), 'turnpike-spools-'));
  await ledger.db.router.deleteMany();
  routers = [await startRouter(0), await startRouter(1)];
  await allOpen();
});
afterEach(async () => {
  for (const router of routers) await router.crash();
  await cluster.stop();
  await rm(folder, { recursive: true });
});

const startRouter = (index: number, leaseMs = 60_000): Promise<RouterAccounts> =>
  startRouterAccounts({
    redisUrls: cluster.masters.map(({ url }) => url),
    ledgerUrl: () => service.internalUrl,
    internalHeaders,
    spoolDir: join(folder, String(index)),
    leaseMs,
    write: (json) => json,
  });

const allOpen = () => until('every shard admits, on both routers', () => routers.every((each) => each.isOpen()));

/** A key of a workspace with credit, which the nth of the three masters serves. */
async function aFundedKey(nth: number): Promise<KeyRecord> {
  const key = aKeyRecord();
  const { workspaceId } = key.workspace;
  if (Math.floor((hashSlotOf(redisKeys.wallet(workspaceId)) * 3) / 16_384) !== nth) return aFundedKey(nth);
  await addCredit(ledger.db, { creditId: randomUUID(), workspaceId, amountNanoUsd: CREDIT, note: 'test' });
  return key;
}

async function anOpenCall(key: KeyRecord, router = routers[0]): Promise<OpenCall> {
  const call = await router.admit(key, HOLD);
  if (!call) throw new Error('the call was refused');
  return call;
}

/** Ends a call at this charge; completion tokens cost 400 nano-dollars. */
const succeed = (call: OpenCall, chargeNanoUsd = CHARGE): Promise<boolean> =>
  call.end({
    status: 'success',
    reason: 'completed',
    usage: { promptTokens: 0, cachedPromptTokens: 0, completionTokens: Number(chargeNanoUsd / 400n) },
  });

/** Returns the gate's counters of a workspace: spend, and pending calls. */
async function countedOf({ keyId, workspace: { workspaceId } }: KeyRecord) {
  await until('all is recorded and absorbed', () => routers.every((each) => each.pending.isEmpty));
  const [router] = routers;
  await router.load(workspaceId, keyId);
  const redis = router.shards.of(workspaceId)?.redis;
  if (!redis) throw new Error('nobody serves the workspace');
  const [left, held, ended] = await redis.hmget(redisKeys.wallet(workspaceId), 'left', 'held', 'ended');
  const [spent, keyHeld, keyEnded] = await redis.hmget(redisKeys.key(workspaceId, keyId), 'spent', 'held', 'ended');
  const month = new Date().toISOString().slice(0, 7);
  const balances = await getBalances(ledger.db, { workspaceId, month });
  return {
    spent: [CREDIT - BigInt(left ?? 0), BigInt(spent ?? 0), balances.spentNanoUsd],
    pending: [held, ended, keyHeld ?? '0', keyEnded ?? '0'],
    rows: Number(balances.requests),
  };
}
const countedAs = (spent: bigint, rows: number) => ({
  spent: [spent, spent, spent],
  pending: ['0', '0', '0', '0'],
  rows,
});

/** Holds nine tenths of a workspace's credit, by both routers. */
const holdNearlyAll = (key: KeyRecord) =>
  Promise.all(Array.from({ length: 9 }, (_, nth) => anOpenCall(key, routers[nth % 2])));

/** Whether a router lets two calls in, of which one fits. */
async function expectOneFits(key: KeyRecord): Promise<OpenCall> {
  const call = await anOpenCall(key);
  expect(await routers[1].admit(key, HOLD)).toBeUndefined();
  return call;
}

it('admits, settles and records calls of workspaces in every shard', async () => {
  for (const nth of [0, 1, 2]) {
    const key = await aFundedKey(nth);
    const calls = await holdNearlyAll(key);
    calls.push(await expectOneFits(key));
    for (const call of calls) await succeed(call);
    expect(await countedOf(key)).toEqual(countedAs(10n * CHARGE, 10));
  }
  expect(routers[0].shards.all.map(({ name }) => name).toSorted()).toEqual(['0-5460', '10923-16383', '5461-10922']);
});

it.each([
  ['is killed', (nth: number) => cluster.masters[nth]?.kill()],
  ['is demoted in order, and goes on answering', (nth: number) => cluster.replicas[nth]?.run('cluster', 'failover')],
])(
  'puts its calls back where a master %s and its replica takes over; the other shards stay open',
  async (_what, lose) => {
    const [lost, other] = [await aFundedKey(1), await aFundedKey(2)];
    const calls = await holdNearlyAll(lost);
    const ended = await anOpenCall(lost);
    await succeed(ended);
    const tokenOf = ({ workspace }: KeyRecord) =>
      routers[0].shards.of(workspace.workspaceId)?.sessionState.session?.token;
    const [before, beforeOther] = [tokenOf(lost), tokenOf(other)];
    await lose(1);
    await until('calls are put back', () => tokenOf(lost) !== undefined && tokenOf(lost) !== before);
    await allOpen();
    expect(tokenOf(other)).toBe(beforeOther);
    expect(await routers[1].admit(lost, HOLD)).toBeUndefined();
    for (const call of calls) await succeed(call);
    expect(await countedOf(lost)).toEqual(countedAs(10n * CHARGE, 10));
  },
);

it('lets routers hear of each other’s calls again once their channel’s master is replaced', async () => {
  const telling = routers.map(({ shards }, nth) => aTellingRouter(`router-${nth}`, shards));
  try {
    const before = await allCountAll(telling);
    const { port } = routers[0].shards.having(NEWS_CHANNEL)?.redis.options ?? {};
    await cluster.masters.find((master) => master.port === port)?.kill();
    await until('another server to have the channel', () =>
      routers.every(({ shards }) => shards.having(NEWS_CHANNEL)?.redis.options.port !== port),
    );
    for (const { place } of telling) place();
    expect(await allCountAll(telling)).toBeGreaterThan(before);
  } finally {
    await Promise.all(telling.map((router) => router.close()));
  }
});

it('puts its calls back where a master is emptied', async () => {
  const key = await aFundedKey(0);
  const calls = await holdNearlyAll(key);
  const sessions = () =>
    routers.map(({ shards }) => shards.of(key.workspace.workspaceId)?.sessionState.session?.token ?? 'none');
  const before = sessions();
  await cluster.masters[0].run('flushall');
  await until('both routers to have other sessions', () => {
    const now = sessions();
    return !now.includes('none') && now.every((token) => !before.includes(token));
  });
  await allOpen();
  calls.push(await expectOneFits(key));
  for (const call of calls) await succeed(call);
  expect(await countedOf(key)).toEqual(countedAs(10n * CHARGE, 10));
});

it('closes the workspaces of a shard that is lost for good, and no other', async () => {
  const [lost, other] = [await aFundedKey(0), await aFundedKey(1)];
  const [lostCall, call] = [await anOpenCall(lost), await anOpenCall(other)];
  await cluster.replicas[0].kill();
  await cluster.masters[0].kill();
  await until('the shard is closed', async () => !routers[0].isOpen());
  await succeed(lostCall);
  await succeed(call);
  const end = performance.now() + 4_000;
  while (performance.now() < end) {
    expect(await routers[0].admit(lost, HOLD)).toBeUndefined();
    await succeed(await anOpenCall(other), 0n);
    await delay(200);
  }
  await until('the call of the other shard is recorded and absorbed', () => routers[0].pending.size === 1);
  await cluster.masters[0].restart({ empty: true });
  await allOpen();
  expect((await countedOf(lost)).spent).toEqual([CHARGE, CHARGE, CHARGE]);
});

it('sweeps the calls of a router that is gone, in every shard', async () => {
  await routers[0].crash();
  routers[0] = await startRouter(0, 2_000);
  await allOpen();
  const keys = [await aFundedKey(0), await aFundedKey(1), await aFundedKey(2)];
  // A machine that stands still for longer than the lease opens the shard again.
  for (const key of keys) await until('the call to be admitted', () => routers[0].admit(key, HOLD));
  await routers[0].crash();
  routers[0] = await startRouter(2, 2_000);
  for (const key of keys) {
    const { workspaceId } = key.workspace;
    const redis = () => routers[1].shards.of(workspaceId)?.redis;
    await until('nothing is held', async () => (await redis()?.hget(redisKeys.wallet(workspaceId), 'held')) === '0');
  }
});

it('refuses a workspace whose keys are on their way to another master, and counts on where they have arrived', async () => {
  const [from, to] = cluster.masters;
  const key = await aFundedKey(0);
  const { workspaceId } = key.workspace;
  const slot = String(hashSlotOf(redisKeys.wallet(workspaceId)));
  const calls = await holdNearlyAll(key);
  const [fromId, toId] = [await from.run('cluster', 'myid'), await to.run('cluster', 'myid')];
  await to.run('cluster', 'setslot', slot, 'importing', fromId);
  await from.run('cluster', 'setslot', slot, 'migrating', toId);
  expect(await routers[0].admit(key, HOLD)).toBeUndefined();
  const [first] = calls;
  if (first) await succeed(first); // waits for Redis
  // A rate limit may be full again meanwhile, and forgotten.
  for (const name of (await from.run('cluster', 'getkeysinslot', slot, '1000')).split('\n'))
    expect(await from.run('migrate', '127.0.0.1', String(to.port), name, '0', '30000')).toMatch(/^(OK|NOKEY)$/);
  expect(await routers[0].admit(key, HOLD)).toBeUndefined();
  for (const node of [to, from, cluster.masters[2]]) await node.run('cluster', 'setslot', slot, 'node', toId);
  await until('the slot is served anew', () =>
    routers.every(({ shards }) => shards.of(workspaceId)?.redis.options.port === to.port),
  );
  await allOpen();
  // Nine are pending, one of them at its charge, so one and a half fit.
  calls.push(await expectOneFits(key));
  for (const call of calls.slice(1)) await succeed(call);
  expect(await countedOf(key)).toEqual(countedAs(10n * CHARGE, 10));
});
