import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson } from '@turnpike/events/usageRecorded';
import { aHold } from '../../test/aHold.ts';
import { aShardHolds } from '../../test/aShardHolds.ts';
import { aTestLedger, type TestLedger } from '../../test/aTestLedger.ts';
import { type OpenedRedis, openTestRedis } from '../../test/openTestRedis.ts';
import { type Absorber, ShardAbsorber } from '../balances/absorb.ts';
import { type Hold, PendingCalls } from '../call/pendingCalls.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import type { Settlement, ShardHolds } from '../shardHolds.ts';

// One key of Redis is lost alone, evicted or deleted by hand, beside pending calls. The next script that meets it puts every sum right.

const HOLD = 1_000n;
const CHARGE = 300n;

let opened: OpenedRedis;
let ledger: TestLedger;
let absorber: Absorber;
let holds: ShardHolds;
beforeAll(async () => {
  opened = await openTestRedis();
  holds = aShardHolds(opened);
});
afterAll(() => opened.close());

let workspaceId: string;
/** Two that run and one that has ended, each of a key of its own. */
let first: Hold;
let second: Hold;
let ended: Hold;
beforeEach(async () => {
  ledger = await aTestLedger();
  const { redis, sessionState } = opened;
  absorber = new ShardAbsorber({
    redis,
    ledgerUrl: ledger.url,
    internalHeaders: () => ({}),
    timeoutMs: 20_000,
    sessionState,
  });
  first = await aHold(opened, { holdNanoUsd: HOLD });
  ({ workspaceId } = first);
  Object.assign(ledger.booksOf(workspaceId), { seq: 1, leftNanoUsd: 10n ** 12n });
  second = await admit();
  ended = await admit();
  expect(await settle(ended)).toBe('held');
});
afterEach(() => ledger.close());

const admit = (keyId?: string): Promise<Hold> =>
  aHold(opened, { holdNanoUsd: HOLD, workspaceId, ...(keyId !== undefined && { keyId }) });

function toEnded({ callId, keyId }: Hold) {
  const event = aUsageRecorded({ callId, keyId, workspaceId, chargeNanoUsd: CHARGE, holdNanoUsd: HOLD });
  return { event, json: toUsageRecordedJson(event) };
}

function settle(held: Hold): Promise<Settlement> {
  const { event, json } = toEnded(held);
  return holds.settle(event, json);
}

/** The ledger has the call for good, and says so. */
async function absorb(...holds: [Hold, ...Hold[]]): Promise<void> {
  const books = ledger.booksOf(workspaceId);
  for (const { callId, keyId } of holds) {
    Object.assign(books, { seq: books.seq + 1, leftNanoUsd: books.leftNanoUsd - CHARGE });
    books.final.push(callId);
    books.keys[keyId] = CHARGE;
  }
  await absorber.absorbCalls([{ workspaceId, callIds: holds.map(({ callId }) => callId) }]);
}

/** Puts these calls back like a router that has them. */
async function putBack({ running = [], over = [] }: { running?: Hold[]; over?: Hold[] }): Promise<void> {
  const pending = new PendingCalls();
  for (const held of running) pending.add(held);
  for (const held of over) pending.end(toEnded(held));
  await aShardHolds(opened, { pending }).putBackAll(opened.session);
}

/** Every counter against the records of the calls that are listed. Gives the sums of the wallet. */
async function expectWholeSums(): Promise<{ held: bigint; ended: bigint }> {
  const calls = await Promise.all(
    (await opened.pendingOf(workspaceId)).map((callId) => opened.callOf({ workspaceId, callId })),
  );
  const sumOf = (some: typeof calls) => {
    const sum = (kind: string) =>
      some.filter((call) => call.kind === kind).reduce((all, { amount = '0' }) => all + BigInt(amount), 0n);
    return { held: sum('held'), ended: sum('ended') };
  };
  const all = sumOf(calls);
  expect(await opened.walletOf(workspaceId)).toMatchObject(all);
  expect(await opened.monthsOf(workspaceId)).toMatchObject(all);
  const keyIds = new Set([first.keyId, second.keyId, ended.keyId, ...calls.map(({ key = '' }) => key)]);
  for (const keyId of keyIds)
    expect(await opened.keyOf(workspaceId, keyId)).toMatchObject(sumOf(calls.filter(({ key }) => key === keyId)));
  return all;
}

describe.each<[string, () => string]>([
  ['the wallet', () => redisKeys.wallet(workspaceId)],
  ['the months', () => redisKeys.months(workspaceId)],
  ['the counter of a key', () => redisKeys.key(workspaceId, first.keyId)],
])('%s lost alone', (what, nameOf) => {
  beforeEach(async () => {
    expect(await opened.redis.del(nameOf())).toBe(1);
  });
  const steps: [string, () => Promise<unknown>, { held: bigint; ended: bigint }][] = [
    ['a call that settles', () => settle(first), { held: HOLD, ended: 2n * CHARGE }],
    ['an admission that is released', () => holds.release(first), { held: HOLD, ended: CHARGE }],
    ['a call that is recorded', () => absorb(first), { held: HOLD, ended: CHARGE }],
    ['a load of the key', () => absorber.load(workspaceId, first.keyId), { held: 2n * HOLD, ended: CHARGE }],
    ['a call that is put back', () => putBack({ running: [first] }), { held: 2n * HOLD, ended: CHARGE }],
    ['a charge that is put back', () => putBack({ over: [first] }), { held: HOLD, ended: 2n * CHARGE }],
  ];
  it.each(steps)('is counted again by %s', async (_step, run, sums) => {
    await run();
    expect(await expectWholeSums()).toEqual(sums);
  });

  it('is counted again by an admission, where that may be made without it', async () => {
    if (what === 'the wallet') await expect(admit()).rejects.toThrow('not_loaded');
    else await admit(first.keyId);
    if (what !== 'the wallet') expect(await expectWholeSums()).toEqual({ held: 3n * HOLD, ended: CHARGE });
  });
});

it('counts again where the last call of a key whose counter was lost is recorded', async () => {
  await opened.redis.del(redisKeys.key(workspaceId, ended.keyId));
  await absorb(ended);
  expect(await expectWholeSums()).toEqual({ held: 2n * HOLD, ended: 0n });
});

it('lists the keys of pending calls again where the list was lost, as soon as a key is new or is loaded', async () => {
  const keys = redisKeys.keys(workspaceId);
  const known = [first, second, ended].map(({ keyId }) => keyId);
  await opened.redis.del(keys);
  const { keyId } = await admit();
  expect((await opened.redis.smembers(keys)).sort()).toEqual([...known, keyId].sort());
  await opened.redis.del(keys);
  await absorber.load(workspaceId, known[0]);
  expect((await opened.redis.smembers(keys)).sort()).toEqual([...known, keyId].sort());
});

it('counts nothing again for a new key or a new month of a workspace', async () => {
  // A wrong sum, which a recount would replace.
  await opened.redis.hset(redisKeys.wallet(workspaceId), 'held', 7_000);
  await admit();
  const month = new Date().toISOString().slice(0, 7);
  await opened.redis.hdel(redisKeys.months(workspaceId), `${month}:held`, `${month}:ended`);
  await admit();
  expect(await opened.walletOf(workspaceId)).toMatchObject({ held: 7_000n + 2n * HOLD });
});

describe('a workspace that nobody uses', () => {
  const DAY_MS = 86_400_000;
  const countersOf = () => [
    redisKeys.wallet(workspaceId),
    redisKeys.months(workspaceId),
    redisKeys.keys(workspaceId),
    redisKeys.key(workspaceId, first.keyId),
  ];
  const daysLeft = async () =>
    Promise.all(countersOf().map(async (name) => Math.ceil((await opened.redis.pttl(name)) / DAY_MS)));

  it('is forgotten 40 days after its last call was recorded, and its pending calls are not', async () => {
    await absorb(first);
    expect(await daysLeft()).toEqual([40, 40, 40, 40]);
    expect(await opened.redis.pttl(redisKeys.calls(workspaceId))).toBe(-1);
  });

  it('has its time anew when it is used after half of it', async () => {
    for (const name of countersOf()) await opened.redis.pexpire(name, 19 * DAY_MS);
    await absorb(first);
    expect(await daysLeft()).toEqual([40, 40, 40, 40]);
  });

  it('is counted whole again where it was forgotten beside a call that is pending still', async () => {
    await opened.redis.del(countersOf());
    await absorber.load(workspaceId, first.keyId);
    expect(await expectWholeSums()).toEqual({ held: 2n * HOLD, ended: CHARGE });
  });
});

describe('a counter lost beside more calls than are counted in one script', () => {
  const CALLS = 800;
  let many: Hold[];
  const nothingIsLeft = async () =>
    (await opened.redis.exists(`{${workspaceId}}:uncounted_calls`, `{${workspaceId}}:stale_keys`)) === 0;
  beforeEach(async () => {
    many = await Promise.all(Array.from({ length: CALLS }, (_, nth) => admit(`key_of_many_${nth % 600}`)));
    await opened.redis.del(redisKeys.key(workspaceId, first.keyId));
    await settle(first);
  });

  it('is counted in steps, during which nothing is admitted; a load takes all of them', async () => {
    expect(await nothingIsLeft()).toBe(false);
    await expect(admit()).rejects.toThrow('not_loaded');
    await absorber.load(workspaceId);
    expect(await nothingIsLeft()).toBe(true);
    expect(await expectWholeSums()).toEqual({ held: BigInt(CALLS + 1) * HOLD, ended: 2n * CHARGE });
    await admit();
  });

  it('is counted right beside calls that settle, are released, recorded and put back between the steps', async () => {
    const [settling, releasing, recorded, back, over] = Array.from({ length: 5 }, (_, nth) =>
      many.filter((_call, at) => at % 5 === nth),
    ) as [Hold[], Hold[], Hold[], Hold[], Hold[]];
    for (let round = 0; round < 8; round += 1) {
      const some = (holds: Hold[]) => holds.slice(round * 20, round * 20 + 20);
      await Promise.all([
        ...some(settling).map(settle),
        ...some(releasing).map((hold) => holds.release(hold)),
        putBack({ running: some(back), over: some(over) }),
        absorb(...(some(recorded) as [Hold])),
      ]);
    }
    await absorber.load(workspaceId);
    expect(await nothingIsLeft()).toBe(true);
    // Two of before and 160 each of those put back or settled.
    expect(await expectWholeSums()).toEqual({ held: 161n * HOLD, ended: (2n + 320n) * CHARGE });
    for (const { keyId } of many.slice(0, 50)) await absorber.load(workspaceId, keyId);
  });

  it('is counted once more where another counter is lost before the last step', async () => {
    await absorb(many[0] as Hold);
    await opened.redis.del(redisKeys.wallet(workspaceId));
    await settle(many[1] as Hold);
    await expect(admit()).rejects.toThrow('not_loaded');
    await absorber.load(workspaceId);
    expect(await nothingIsLeft()).toBe(true);
    expect(await expectWholeSums()).toEqual({ held: BigInt(CALLS - 1) * HOLD, ended: 3n * CHARGE });
  });
});

describe('the list of calls lost alone', () => {
  beforeEach(async () => {
    await opened.redis.del(redisKeys.calls(workspaceId));
  });

  it('is told to the router of a call that settles, which puts its others back; no sum changes by that', async () => {
    expect(await settle(first)).toBe('unlisted');
    expect(await opened.pendingOf(workspaceId)).toEqual([first.callId]);
    await putBack({ running: [second], over: [first, ended] });
    expect(await expectWholeSums()).toEqual({ held: HOLD, ended: 2n * CHARGE });
    expect(await settle(second)).toBe('held');
    expect(await expectWholeSums()).toEqual({ held: 0n, ended: 3n * CHARGE });
  });

  it('together with a counter is whole again when all is put back', async () => {
    await opened.redis.del(redisKeys.wallet(workspaceId));
    expect(await settle(first)).toBe('unlisted');
    await putBack({ running: [second], over: [first, ended] });
    expect(await expectWholeSums()).toEqual({ held: HOLD, ended: 2n * CHARGE });
  });

  it('keeps no call from being dropped once it is recorded', async () => {
    await absorb(ended);
    expect(await opened.walletOf(workspaceId)).toMatchObject({ held: 2n * HOLD, ended: 0n });
  });
});

describe('the record of a call lost alone', () => {
  it('is put back by the router of a call that settles, and its hold is not counted twice', async () => {
    await opened.redis.del(redisKeys.call(workspaceId, first.callId));
    expect(await settle(first)).toBe('none');
    await putBack({ running: [second], over: [first, ended] });
    expect(await expectWholeSums()).toEqual({ held: HOLD, ended: 2n * CHARGE });
  });

  it('is counted no more once the call is recorded', async () => {
    await opened.redis.del(redisKeys.call(workspaceId, ended.callId));
    await absorb(ended);
    expect(await expectWholeSums()).toEqual({ held: 2n * HOLD, ended: 0n });
    expect(await opened.pendingOf(workspaceId)).not.toContain(ended.callId);
  });
});
