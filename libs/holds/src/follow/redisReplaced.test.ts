import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { connectRedis } from '@turnpike/redis-connection/connectRedis';
import { type FaultProxy, openFaultProxy } from '@turnpike/test-support/faultProxy';
import { until } from '@turnpike/test-support/until';
import type { Redis } from 'ioredis';
import { aShard } from '../../test/aShard.ts';
import { type OpenedRedis, openTestRedis } from '../../test/openTestRedis.ts';
import { readRedis } from '../redis/askRedis.ts';
import { LAYOUT } from '../redis/redisKeys.ts';
import { SessionState } from '../redis/sessionState.ts';
import { followRedis } from './followRedis.ts';

// Two real Redis behind one address, which leads to one of them: a failover that breaks no connection.

let former: OpenedRedis;
let promoted: OpenedRedis;
let address: FaultProxy;
let redis: Redis;
let sessionState: SessionState;
let follower: ReturnType<typeof followRedis> | undefined;
beforeEach(async () => {
  [former, promoted] = await Promise.all([openTestRedis(), openTestRedis()]);
  address = await openFaultProxy(former.server.port);
  redis = connectRedis(`redis://127.0.0.1:${address.port}`, { timeoutMs: 1_000, log: aSilentLogger() });
  await new Promise((resolve) => redis.once('ready', resolve));
  sessionState = new SessionState();
});
afterEach(async () => {
  await follower?.close();
  follower = undefined;
  redis.disconnect();
  await address.close();
  await Promise.all([former.close(), promoted.close()]);
});

/** Follows Redis beside a ledger that knows no other owner, and opens whatever Redis this one has put back into. */
async function startFollower(): Promise<void> {
  const marks = new Map<string, string>();
  follower = followRedis({
    shard: aShard(redis, sessionState),
    owner: 'router-1',
    leaseMs: 60_000,
    layout: LAYOUT,
    reports: {
      async report({ redisId, putBackMark }) {
        const known = redisId === null ? null : marks.get(redisId);
        const mark = known === undefined ? randomUUID() : known;
        if (redisId !== null && mark !== null) marks.set(redisId, mark);
        return {
          redisId,
          mark,
          isToBeSet: known === undefined,
          isOpen: mark !== null && putBackMark === mark,
          isStranger: false,
          waitsFor: [],
        };
      },
    },
    putBack: async () => {},
    log: aSilentLogger(),
  });
  await opensOn(former);
}

/** A server takes another replication id when its first replica comes, so it is asked for each time. */
const opensOn = (wanted: OpenedRedis): Promise<unknown> =>
  until('calls are admitted there', async () => {
    const redisId = (await readRedis(wanted.redis)).redisId;
    return sessionState.isOpen && sessionState.session?.mark.startsWith(redisId);
  });

/** The former primary follows the new one, and goes on answering on the connections that it has. */
async function demote(): Promise<void> {
  await former.redis.replicaof('127.0.0.1', promoted.server.port);
  await until('it is a replica', async () => /^role:slave/m.test(await former.redis.info('replication')));
}

it('goes to the new primary when the one it is connected to was demoted and goes on answering', async () => {
  await startFollower();
  await demote();
  address.redirect(promoted.server.port);
  await opensOn(promoted);
});

it('goes to the new primary also when the address leads to the demoted one for a while', async () => {
  await startFollower();
  await demote();
  const connections = async () =>
    Number(/^total_connections_received:(\d+)/m.exec(await former.redis.info('stats'))?.[1]);
  const before = await connections();
  await until('it has connected there again', async () => (await connections()) > before);
  expect(sessionState.isOpen).toBe(false);
  address.redirect(promoted.server.port);
  await opensOn(promoted);
});

it('goes to the new primary when nothing passes any more on its connection, which nobody has closed', async () => {
  await startFollower();
  address.redirect(promoted.server.port);
  address.lose();
  await opensOn(promoted);
});

it('leaves a server that refuses a write as a replica, and sends that write to nobody else', async () => {
  await demote();
  address.redirect(promoted.server.port);
  await expect(redis.incr('written')).rejects.toThrow(/^READONLY/);
  await until('it is connected to the new primary', () => redis.incr('written').catch(() => undefined));
  expect(await promoted.redis.get('written')).toBe('1');
});

it('sends a command that was lost with its connection to nobody else', async () => {
  await startFollower();
  address.redirect(promoted.server.port);
  address.lose();
  await expect(redis.incr('written')).rejects.toThrow();
  await opensOn(promoted);
  expect(await promoted.redis.exists('written')).toBe(0);
});
