import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Logger } from '@turnpike/logging/createLogger';
import { until } from '@turnpike/test-support/until';
import { anAdmittedCall } from '../../../test/anAdmittedCall.ts';
import { aSilentLogger } from '../../../test/aSilentLogger.ts';
import { type OpenedRedis, openTestRedis } from '../../../test/openTestRedis.ts';
import { HeldCalls } from '../call/heldCalls.ts';
import { RedisEpoch } from '../redis/redisEpoch.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import { readRedisId, readRedisTime } from '../redis/redisServer.ts';
import { createEpochMark } from './epochMark.ts';
import { followEpoch } from './followEpoch.ts';
import type { EpochNews, RouterReport } from './reportToLedger.ts';

// One router and what the ledger tells it, on a real Redis (decision page: when Redis is lost).

let opened: OpenedRedis;
let news: EpochNews;
let reports: RouterReport[];
/** What `assertCall` does; a test changes it. */
let onAssert: () => Promise<void>;
let follower: ReturnType<typeof followEpoch>;
let logged: [level: string, message: string][];
beforeAll(async () => {
  opened = await openTestRedis();
});
afterAll(() => opened.close());
/** A logger that keeps what is said of epochs. */
function aKeepingLogger(): Logger {
  const keep = (level: string) => (_fields: object, message: string) => void logged.push([level, message]);
  return Object.assign(Object.create(aSilentLogger()) as Logger, { info: keep('info'), warn: keep('warn') });
}
beforeEach(async () => {
  reports = [];
  logged = [];
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
    balances: { loadFor: async () => ({ count: 0, callIds: new Set<string>() }) },
    assertCall: () => onAssert(),
    publishKept: async () => {},
    isCaughtUp: () => true,
    hasUnread: () => false,
    log: aKeepingLogger(),
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
  const another = { number: 9, redisId: 'f'.repeat(40) };
  await expect(mark.put(another, await readRedisTime(opened.redis))).rejects.toThrow('not the Redis of the epoch');
  expect(await markInRedis()).toBe('2');
});

it('marks nothing any more where the ledger may have given this router up since it was asked', async () => {
  await until('it has drained', hasDrained);
  // Others go on without it, and Redis is emptied: what it would mark now lacks what they have put back.
  await opened.redis.flushall();
  const mark = createEpochMark(opened.redis);
  const longAgoMs = (await readRedisTime(opened.redis)) - 15_000;
  await expect(mark.put(news, longAgoMs)).rejects.toThrow('the ledger has to be asked again');
  expect(await markInRedis()).toBeNull();
});

it('says why balances are built, as far as it can tell: only what happens to a router that counts is a warning', async () => {
  const timesOpened = () => logged.filter(([, message]) => message === 'calls are admitted').length;
  await until('it has drained', hasDrained);
  news = { ...news, phase: 'open', isMember: true };
  await until('it admits calls', () => timesOpened() >= 1);

  news = { ...news, number: 3, phase: 'draining', isMember: false };
  await until('it has drained again', () => reports.at(-1)?.drainedEpoch === 3);
  news = { ...news, phase: 'open', isMember: true };
  await until('it admits calls again', () => timesOpened() >= 2);

  // As a replica that is promoted, Redis gives itself another replication id.
  await opened.redis.replicaof('127.0.0.1', 1);
  await opened.redis.replicaof('NO', 'ONE');
  news = { number: 4, redisId: await readRedisId(opened.redis), phase: 'draining', isMember: false };
  await until('it has drained for the other Redis', () => reports.at(-1)?.drainedEpoch === 4);

  expect(logged.filter(([, message]) => /^(balances|Redis was)/.test(message))).toEqual([
    ['info', 'balances are built before this router admits its first call'],
    [
      'warn',
      'balances are built anew in the same Redis: the ledger or a router found that something is missing from them',
    ],
    ['warn', 'Redis was restarted or replaced: balances are built anew'],
  ]);
});
