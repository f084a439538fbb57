import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { anAdmittedCall } from '../../test/anAdmittedCall.ts';
import { aSilentLogger } from '../../test/aSilentLogger.ts';
import { type OpenedRedis, openTestRedis } from '../../test/openTestRedis.ts';
import { createEpochMark } from '../admission/epochMark.ts';
import { readRedisId } from '../admission/readRedisId.ts';
import { RedisEpoch } from '../admission/redisEpoch.ts';
import { redisKeys } from '../admission/redisKeys.ts';
import type { EpochNews, RouterReport } from '../admission/reportToLedger.ts';
import { followEpoch } from './followEpoch.ts';
import { HeldCalls } from './heldCalls.ts';

// One router and what the ledger tells it, on a real Redis (decision page: when Redis is lost).

let opened: OpenedRedis;
let news: EpochNews;
let reports: RouterReport[];
/** What `assertCall` does; a test changes it. */
let onAssert: () => Promise<void>;
let follower: ReturnType<typeof followEpoch>;
beforeAll(async () => {
  opened = await openTestRedis();
});
afterAll(() => opened.close());
beforeEach(async () => {
  reports = [];
  onAssert = async () => {};
  news = { number: 2, redisId: await readRedisId(opened.redis), phase: 'draining', isMember: false };
  const heldCalls = new HeldCalls();
  heldCalls.add(await anAdmittedCall(opened), { hasEnded: false });
  follower = followEpoch({
    redis: opened.redis,
    epoch: new RedisEpoch(),
    reports: {
      async report(said) {
        reports.push(said);
        return news;
      },
    },
    heldCalls,
    mark: createEpochMark(opened.redis),
    balances: { loadFor: async () => new Set() },
    assertCall: () => onAssert(),
    publishKept: async () => {},
    isCaughtUp: () => true,
    hasUnread: () => false,
    log: aSilentLogger(),
  });
});
afterEach(() => follower.close());

const markInRedis = () => opened.redis.get(redisKeys.epoch);
const hasDrained = () => reports.at(-1)?.drainedEpoch === 2;

it('marks Redis while it drains, and asserts its calls in the Redis that has the mark', async () => {
  await until('it has drained', hasDrained);
  expect(await markInRedis()).toBe('2');
  news = { ...news, phase: 'asserting' };
  await until('it has asserted', () => reports.at(-1)?.assertedEpoch === 2);
  expect(reports.some(({ missesCalls }) => missesCalls)).toBe(false);
});

it('tells the ledger that calls are missing, and puts no mark back, where Redis is emptied while it asserts', async () => {
  let asserted = 0;
  onAssert = async () => {
    asserted += 1;
    // What others have asserted goes with it; the answer of this one is lost, so that it tries again.
    await opened.redis.flushall();
    throw new Error('the connection broke');
  };
  await until('it has drained', hasDrained);
  news = { ...news, phase: 'asserting' };
  await until('it says so', () => reports.at(-1)?.missesCalls === true);
  expect(reports.some(({ assertedEpoch }) => assertedEpoch === 2)).toBe(false);
  expect(asserted).toBe(1);
  expect(await markInRedis()).toBeNull();

  // The next epoch is built like any other, and nothing is missed in it.
  onAssert = async () => {};
  news = { ...news, number: 3, phase: 'draining' };
  await until('it has drained again', () => reports.at(-1)?.drainedEpoch === 3);
  expect(reports.at(-1)?.missesCalls).toBe(false);
  expect(await markInRedis()).toBe('3');
});

it('marks no other Redis than that of the epoch', async () => {
  await until('it has drained', hasDrained);
  const mark = createEpochMark(opened.redis);
  await expect(mark.put({ number: 9, redisId: 'f'.repeat(40) })).rejects.toThrow('not the Redis of the epoch');
  expect(await markInRedis()).toBe('2');
});
