import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Logger } from '@turnpike/logging/createLogger';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { connectRedis } from '@turnpike/redis-connection/connectRedis';
import { until } from '@turnpike/test-support/until';
import { aShard, TAG } from '../../test/aShard.ts';
import { type OpenedRedis, openTestRedis } from '../../test/openTestRedis.ts';
import { defineScript, readRedis, readRedisTime } from '../redis/askRedis.ts';
import { LAYOUT, redisKeys } from '../redis/redisKeys.ts';
import { type Session, SessionState } from '../redis/sessionState.ts';
import { followRedis } from './followRedis.ts';
import type { OwnerReport, RedisNews } from './reportToLedger.ts';

// One owner and what the ledger tells it, on a real Redis.

let opened: OpenedRedis;
let redis: ReturnType<typeof connectRedis>;
let sessionState: SessionState;
let news: RedisNews;
let isLedgerAway: boolean;
/** Marks that were given to this owner to put. */
let given: Set<string | null>;
let reports: OwnerReport[];
/** Sessions that calls were put back under. */
let sessions: Session[];
/** The work of a put-back, which a test may replace. */
let onPutBack: () => Promise<void>;
let follower: ReturnType<typeof followRedis>;
let logged: [level: string, message: string][];
beforeAll(async () => {
  opened = await openTestRedis();
});
afterAll(() => opened.close());
/** A logger that keeps what is said. */
function aKeepingLogger(): Logger {
  const keep = (level: string) => (fields: object | string, message?: string) =>
    void logged.push([level, message ?? String(fields)]);
  return Object.assign(Object.create(aSilentLogger()) as Logger, {
    info: keep('info'),
    warn: keep('warn'),
    error: keep('error'),
  });
}
beforeEach(async () => {
  await opened.redis.flushall();
  redis = connectRedis(opened.server.url, { timeoutMs: 2_000, log: aSilentLogger() });
  await until('the connection stands', () => redis.status === 'ready');
  [reports, sessions, logged] = [[], [], []];
  isLedgerAway = false;
  given = new Set();
  onPutBack = async () => {};
  sessionState = new SessionState();
  const redisId = (await readRedis(opened.redis)).redisId;
  news = { redisId, mark: randomUUID(), isToBeSet: true, isOpen: false, isStranger: false, waitsFor: [] };
});
afterEach(async () => {
  await follower.close();
  redis.disconnect();
});

function follow(options: { leaseMs?: number; layout?: number } = {}): void {
  follower = aFollower(sessionState, options);
}

function aFollower(its: SessionState, { leaseMs = 60_000, layout = LAYOUT }: { leaseMs?: number; layout?: number }) {
  return followRedis({
    shard: aShard(redis, its),
    owner: 'router-1',
    leaseMs,
    layout,
    reports: {
      async report(said) {
        reports.push(said);
        if (isLedgerAway) throw new Error('the ledger is away');
        const isToBeSet = news.isToBeSet && !news.isStranger && !given.has(news.mark);
        if (isToBeSet) given.add(news.mark);
        return { ...news, isToBeSet };
      },
    },
    async putBack(session) {
      sessions.push(session);
      await onPutBack();
    },
    log: aKeepingLogger(),
  });
}

const markInRedis = () => opened.redis.get(redisKeys.mark(TAG));
const markOf = ({ redisId, mark }: RedisNews) => `${redisId}:${TAG}:${mark}`;
const isSaidToBeBack = () =>
  until('it says that it has put back', () => reports.at(-1)?.putBackMark === news.mark && sessionState.session);
async function opens(): Promise<Session> {
  await isSaidToBeBack();
  news = { ...news, isOpen: true };
  await until('calls are admitted', () => sessionState.isOpen);
  return sessionState.session as Session;
}
/** The ledger gives the Redis a new mark, as it does where one is missing. */
const renewMark = (): void => {
  news = { ...news, mark: randomUUID(), isOpen: false };
};
const isSaidToBeMissing = (mark: string | null) =>
  until('it says that the mark is missing', () => reports.some(({ missingMark }) => missingMark === mark));

it('marks a Redis that the ledger has named, puts its calls back there, and admits once the ledger opens it', async () => {
  follow();
  const { token } = (await isSaidToBeBack()) as Session;
  expect(sessionState.isOpen).toBe(false);
  expect(await markInRedis()).toBe(markOf(news));
  expect(sessions).toEqual([{ mark: markOf(news), token }]);
  expect(await opened.redis.get(redisKeys.session(TAG, token))).toBe('router-1');
  await opens();
  expect(reports.some(({ missingMark }) => missingMark !== null)).toBe(false);
  expect(logged.filter(([, message]) => message === 'calls are admitted')).toHaveLength(1);
});

it('admits no call while Redis is full, says so, keeps its session, and admits again once there is room', async () => {
  follow();
  const session = await opens();
  await opened.redis.config('SET', 'maxmemory', '1');
  await until('no call is admitted', () => !sessionState.isOpen);
  expect(sessionState.closedReason).toBe('Redis is full: it has reached its maxmemory');
  expect(sessionState.memoryShare).toBeGreaterThan(1);
  await opened.redis.config('SET', 'maxmemory', '0');
  await until('calls are admitted', () => sessionState.isOpen);
  expect(sessionState.session).toBe(session);
});

it('begins a session with a Redis that is full', async () => {
  await opened.redis.config('SET', 'maxmemory', '1');
  try {
    follow();
    await isSaidToBeBack();
    expect(sessionState.isOpen).toBe(false);
  } finally {
    await opened.redis.config('SET', 'maxmemory', '0');
  }
});

it('has its session before it puts anything back under it, and says nothing of it before all is there', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let wasLive = 0;
  onPutBack = async () => {
    wasLive = await opened.redis.exists(redisKeys.session(TAG, sessions.at(-1)?.token ?? ''));
    await promise;
  };
  follow();
  await until('it puts back', () => sessions.length === 1 && reports.length > 3);
  expect(wasLive).toBe(1);
  expect(sessionState.session).toBeUndefined();
  expect(reports.every(({ putBackMark }) => putBackMark === null)).toBe(true);
  resolve();
  await isSaidToBeBack();
  expect(sessions).toHaveLength(1);
});

it('tries a put-back that failed again, under another session', async () => {
  onPutBack = async () => {
    if (sessions.length < 3) throw new Error('Redis was too slow');
  };
  follow();
  const { token } = (await isSaidToBeBack()) as Session;
  expect(new Set(sessions.map((session) => session.token)).size).toBe(3);
  expect(token).toBe(sessions[2]?.token);
});

it('closes when the ledger does, and goes on settling in its session meanwhile', async () => {
  follow();
  const session = await opens();
  news = { ...news, isOpen: false };
  await until('nothing is admitted', () => !sessionState.isOpen);
  expect(sessionState.session).toEqual(session);
});

it('says what keeps calls out while it does, and logs each reason once, however often it looks', async () => {
  isLedgerAway = true;
  follow();
  const looks = (count: number) => until('it looks', () => reports.length >= count);
  await looks(3);
  expect(sessionState.closedReason).toBe('the ledger does not say whether the gate is open');
  isLedgerAway = false;
  news = { ...news, waitsFor: ['router-2', 'router-3'] };
  await isSaidToBeBack();
  await looks(reports.length + 3);
  expect(sessionState.closedReason).toBe('others have not put their calls back: router-2, router-3');
  news = { ...news, waitsFor: ['router-3'] };
  await looks(reports.length + 3);
  expect(sessionState.closedReason).toBe('others have not put their calls back: router-3');
  await opens();
  opened.server.freeze();
  await until('it is noticed', () => sessionState.closedReason === 'no Redis answers as a primary');
  opened.server.thaw();
  await until('calls are admitted again', () => sessionState.isOpen);
  const lines = logged.map(([, message]) => message);
  const told = lines.filter((message) => message === 'no call is admitted' || message === 'calls are admitted');
  expect(told.slice(0, 5)).toEqual([
    ...Array(3).fill('no call is admitted'), // no word, not put back, others
    'calls are admitted',
    'no call is admitted',
  ]);
  expect(told.at(-1)).toBe('calls are admitted');
});

describe('a session', () => {
  const lives = (token: string) => opened.redis.pttl(redisKeys.session(TAG, token));

  it('is renewed while Redis answers', async () => {
    // The follower checks each second, and a check may be late by nearly three.
    follow({ leaseMs: 4_000 });
    const { token } = await opens();
    for (const _time of [1, 2]) {
      await until('some of it is over', async () => (await lives(token)) < 3_300);
      await until('it is renewed', async () => (await lives(token)) > 3_500);
    }
    expect(sessionState.session?.token).toBe(token);
  });

  it('is never renewed once it has lapsed: calls are put back under another one', async () => {
    follow({ leaseMs: 1_000 });
    const { token } = await opens();
    opened.server.freeze();
    await until('it is over for this owner', () => sessionState.session === undefined);
    expect(sessionState.isOpen).toBe(false);
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    opened.server.thaw();
    await until('calls are admitted again', () => sessionState.isOpen);
    expect(sessionState.session?.token).not.toBe(token);
    expect(await lives(token)).toBe(-2);
    expect(sessions.length).toBeGreaterThan(1);
    // Nothing was lost by that, as far as it knows.
    expect(reports.some(({ missingMark }) => missingMark !== null)).toBe(false);
  });

  it('is over for its owner before it is for others', async () => {
    follow();
    const { token } = await opens();
    // No command reaches Redis, which lives on.
    redis.disconnect();
    // Redis has it until then, or longer by what the answer took: too much of that hides the difference.
    const livesUntil = await until('a quick answer', async () => {
      const askedAt = performance.now();
      const leftMs = await lives(token);
      return performance.now() - askedAt < 50 && askedAt + leftMs;
    });
    const now = jest.spyOn(performance, 'now').mockReturnValue(livesUntil);
    const { session } = sessionState;
    now.mockRestore();
    expect(session).toBeUndefined();
    expect(await opened.redis.exists(redisKeys.session(TAG, token))).toBe(1);
  });

  it('ends with its owner, so that what is left of it is found at once', async () => {
    follow();
    const { token } = await opens();
    await follower.close();
    expect(await lives(token)).toBe(-2);
    expect([sessionState.session, sessionState.isOpen]).toEqual([undefined, false]);
  });

  it('is another one after a call was missing that must be pending', async () => {
    follow();
    const { token } = await opens();
    sessionState.reportMissingCall();
    expect(sessionState.isOpen).toBe(false);
    await until('calls are admitted again', () => sessionState.isOpen);
    expect(sessionState.session?.token).not.toBe(token);
    expect(reports.some(({ missingMark }) => missingMark !== null)).toBe(false);
  });
});

it('takes a session that goes early for no sign of an emptied Redis, as where its clock is set forward', async () => {
  follow();
  const { token } = await opens();
  await opened.redis.del(redisKeys.session(TAG, token));
  sessionState.suspect();
  await until(
    'it has another session',
    () => sessionState.session !== undefined && sessionState.session.token !== token,
  );
  await until('calls are admitted again', () => sessionState.isOpen);
  expect(reports.some(({ missingMark }) => missingMark !== null)).toBe(false);
});

describe('a Redis that was emptied', () => {
  it('is reported, and gets no mark before the ledger names another', async () => {
    follow();
    await opens();
    const { mark: former } = news;
    await opened.redis.flushall();
    sessionState.suspect();
    await isSaidToBeMissing(former);
    expect(sessionState.isOpen).toBe(false);
    expect(await markInRedis()).toBeNull();
    renewMark();
    await opens();
    expect(await markInRedis()).toBe(markOf(news));
    expect(sessions.at(-1)?.mark).toBe(markOf(news));
    expect(reports.at(-1)).toMatchObject({ putBackMark: news.mark, missingMark: null });
  });

  it('is found without a hint', async () => {
    follow({ leaseMs: 2_000 });
    await opens();
    const { mark: former } = news;
    await opened.redis.flushall();
    await isSaidToBeMissing(former);
  });

  it('is reported also where somebody has put the mark back', async () => {
    follow();
    const { mark } = await opens();
    await opened.redis.flushall();
    await opened.redis.set(redisKeys.mark(TAG), mark);
    sessionState.suspect();
    await isSaidToBeMissing(news.mark);
    expect(reports.at(-1)?.putBackMark).toBeNull();
  });

  it('is reported where that happens before it was opened', async () => {
    follow();
    await isSaidToBeBack();
    await opened.redis.flushall();
    await isSaidToBeMissing(news.mark);
    expect(await markInRedis()).toBeNull();
  });
});

describe('a mark', () => {
  const setMark = (mark: string, untilMs: number, ...more: (string | number)[]) =>
    defineScript(opened.redis, 'setMark')(
      [redisKeys.mark(TAG), redisKeys.layout(TAG)],
      [mark, untilMs, ...(more.length > 0 ? more : [LAYOUT])],
    );

  it('is put into no other Redis than its own', async () => {
    follow();
    await isSaidToBeBack();
    const later = (await readRedisTime(opened.redis)) + 10_000;
    expect(await setMark(`${'f'.repeat(40)}:${TAG}:${randomUUID()}`, later)).toBe('other_redis');
    expect(await markInRedis()).toBe(markOf(news));
  });

  it('takes those away that the server had when it had fewer slots', async () => {
    await opened.redis.mset(redisKeys.mark('7'), 'one', redisKeys.mark('8'), 'another');
    const later = (await readRedisTime(opened.redis)) + 10_000;
    expect(await setMark(`${news.redisId}:${TAG}:${randomUUID()}`, later, LAYOUT, '7', '8')).toBe('marked');
    expect(await opened.redis.mget(redisKeys.mark('7'), redisKeys.mark('8'))).toEqual([null, null]);
  });

  it('is not put any more where the ledger may have given this owner up since it was asked', async () => {
    follow();
    await isSaidToBeBack();
    const now = await readRedisTime(opened.redis);
    expect(await setMark(`${news.redisId}:${TAG}:${randomUUID()}`, now - 1)).toBe('too_late');
    expect(await markInRedis()).toBe(markOf(news));
  });

  it.each<[string, string[]]>([
    ['under another number', ['layout', '7']],
    ['with a mark and no number, which are of layout 1', ['mark', 'of another release']],
  ])('is not put where Redis has keys %s', async (_which, [name = '', value = '']) => {
    await opened.redis.set(`{${TAG}}:${name}`, value);
    const later = (await readRedisTime(opened.redis)) + 10_000;
    expect(await setMark(`${news.redisId}:${TAG}:${randomUUID()}`, later, 2)).toBe('other_layout');
    expect(await opened.redis.keys('*')).toEqual([`{${TAG}}:${name}`]);
  });

  it('is put by the owner alone that it was given to, and reported missing where nobody has put it for half a second', async () => {
    news = { ...news, isToBeSet: false };
    const askedAt = performance.now();
    follow();
    await isSaidToBeMissing(news.mark);
    expect(performance.now() - askedAt).toBeGreaterThanOrEqual(500);
    expect(await markInRedis()).toBeNull();
    // The other owner has put it meanwhile.
    await opened.redis.set(redisKeys.mark(TAG), markOf(news));
    await opens();
  });

  it('is put in one try', async () => {
    follow();
    await isSaidToBeBack();
    expect(given.size).toBe(1);
    // The follower has not noticed yet.
    await opened.redis.del(redisKeys.mark(TAG));
    await isSaidToBeMissing(news.mark);
    expect(await markInRedis()).toBeNull();
  });

  it('of another server counts for nothing, as of one that was restarted', async () => {
    follow();
    await opens();
    // Redis gets another replication id, like a replica that is promoted.
    await opened.redis.replicaof('127.0.0.1', 1);
    await opened.redis.replicaof('NO', 'ONE');
    const redisId = (await readRedis(opened.redis)).redisId;
    expect(redisId).not.toBe(news.redisId);
    await until('nothing is admitted', () => !sessionState.isOpen);
    news = { ...news, redisId, mark: randomUUID(), isOpen: false };
    await opens();
    expect(sessions.at(-1)?.mark).toBe(markOf(news));
    expect(reports.every(({ missingMark }) => missingMark === null)).toBe(true);
  });
});

describe('two releases of different layouts on one Redis', () => {
  const NEXT = LAYOUT + 1;
  const inRedis = () => opened.redis.get(redisKeys.layout(TAG));
  const lackOf = (theirs: number, own: number) =>
    'another release has its keys in Redis; drain and stop one of the two (docs/releases.md): ' +
    `layout ${theirs} in Redis, ${own} in this process`;
  const alerts = () => logged.filter(([level, message]) => level === 'error' && message.startsWith('ALERT'));

  it.each([
    ['the next release', LAYOUT, NEXT],
    ['this release', NEXT, LAYOUT],
  ])('%s admits nothing beside the other one, writes nothing, and says what to do', async (_which, first, second) => {
    follow({ layout: first });
    const { token } = await opens();
    expect(await inRedis()).toBe(String(first));
    const keys = (await opened.redis.keys('*')).toSorted();
    const late = new SessionState();
    const lateFollower = aFollower(late, { layout: second });
    await until('it says what it lacks', () => late.closedReason === lackOf(first, second));
    const reported = reports.length;
    await until('the first has looked again', () => reports.length > reported + 1);
    expect([late.isOpen, late.session, sessions.length, alerts().length]).toEqual([false, undefined, 1, 1]);
    expect((await opened.redis.keys('*')).toSorted()).toEqual(keys);
    expect([sessionState.isOpen, sessionState.session?.token]).toEqual([true, token]);
    await lateFollower.close();
  });

  it('a process ends its session once the other release has marked the Redis', async () => {
    follow();
    await opens();
    await opened.redis.flushall();
    renewMark();
    await opened.redis.mset(redisKeys.mark(TAG), markOf(news), redisKeys.layout(TAG), NEXT);
    await until('it says what it lacks', () => sessionState.closedReason === lackOf(NEXT, LAYOUT));
    expect([sessionState.session, sessions.length]).toEqual([undefined, 1]);
  });

  it.each([
    ['takes over from the release before the number, whose layout it has', LAYOUT, true],
    ['keeps out of the Redis of a release before the number', NEXT, false],
  ])('a process %s', async (_which, layout, isOpen) => {
    await opened.redis.set(redisKeys.mark(TAG), markOf(news));
    news = { ...news, isOpen: true };
    follow({ layout });
    await until('it has looked', () => sessionState.isOpen || sessionState.closedReason === lackOf(LAYOUT, layout));
    expect([sessionState.isOpen, await inRedis()]).toEqual([isOpen, null]);
  });
});

describe('a stranger', () => {
  it('admits nothing and writes nothing, and an alert is logged once', async () => {
    news = { ...news, isStranger: true };
    follow();
    await until('it has asked a few times', () => reports.length > 5);
    expect([sessionState.isOpen, sessionState.session]).toEqual([false, undefined]);
    expect(sessions).toEqual([]);
    expect(await opened.redis.keys('*')).toEqual([]);
    expect(logged.filter(([, message]) => message.startsWith('ALERT'))).toHaveLength(1);
  });

  it('is none any more once the ledger says so', async () => {
    news = { ...news, isStranger: true };
    follow();
    await until('it has asked', () => reports.length > 2);
    news = { ...news, isStranger: false };
    await opens();
    news = { ...news, isStranger: true, isOpen: false };
    await until('it says so again', () => logged.filter(([, message]) => message.startsWith('ALERT')).length === 2);
    expect(sessionState.isOpen).toBe(false);
  });
});

describe('while the ledger is away', () => {
  it('goes on admitting into the Redis that it had opened', async () => {
    follow({ leaseMs: 3_000 });
    const { token } = await opens();
    isLedgerAway = true;
    const count = reports.length;
    // A lease and a half.
    await until('it has asked in vain', () => reports.length > count + 5);
    expect([sessionState.isOpen, sessionState.session?.token]).toEqual([true, token]);
  });

  it('admits again into that one after its session has lapsed, under another', async () => {
    follow();
    const { token } = await opens();
    isLedgerAway = true;
    sessionState.reportMissingCall();
    await until('calls are admitted again', () => sessionState.isOpen);
    expect(sessionState.session?.token).not.toBe(token);
  });

  it('admits nothing into one that it had not, nor into that one once it was emptied', async () => {
    follow();
    await isSaidToBeBack();
    isLedgerAway = true;
    const count = reports.length;
    await until('it has asked in vain', () => reports.length > count + 3);
    expect(sessionState.isOpen).toBe(false);
    isLedgerAway = false;
    await opens();
    isLedgerAway = true;
    await opened.redis.flushall();
    sessionState.suspect();
    await isSaidToBeMissing(news.mark);
    expect(sessionState.isOpen).toBe(false);
    expect(await markInRedis()).toBeNull();
  });
});
