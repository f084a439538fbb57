import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import { lengthenDeadlines } from '@turnpike/lifecycle/test/lengthenDeadlines';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { startTelemetry } from '@turnpike/telemetry/startTelemetry';
import { readMetrics } from '@turnpike/test-support/readMetrics';
import { startRedis, type TestRedis } from '@turnpike/test-support/startRedis';
import { type ClusterNode, startRedisCluster } from '@turnpike/test-support/startRedisCluster';
import { until } from '@turnpike/test-support/until';
import { Redis } from 'ioredis';
import { createThrottle, MAX_TOLD, type Throttle } from './createThrottle.ts';

// An exchange that fails is not told again, so a Redis that a busy machine holds up has eight times as long for it.
lengthenDeadlines(8);
const { shareThrottles } = await import('./shareThrottles.ts');

// Nothing is refilled while a test runs.
const LIMIT = { requestsPerMinute: 1, burst: 100 };

let server: TestRedis;
let redis: Redis;
const closing: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

interface Replica {
  /** Takes until it is refused, and says how many it was given. */
  takeAll(name: string): number;
  take(name: string): boolean;
  /** Resolves once an exchange is done: before, a slow connection may lose one, and what it told. */
  untilConnected(): Promise<void>;
  /** Resolves once what was taken last has been exchanged with the others. */
  untilExchanged(name: string): Promise<void>;
  logged: string[];
  exchanges(outcome: string): Promise<number>;
}

function openReplica({ urls = [server.url] } = {}): Replica {
  const logged: string[] = [];
  const log = aSilentLogger();
  for (const level of ['error', 'info'] as const)
    jest.spyOn(log, level).mockImplementation((...said: unknown[]) => void logged.push(`${level} ${said.at(-1)}`));
  const telemetry = startTelemetry({
    service: 'edge',
    scope: 'us',
    otlpEndpoint: undefined,
    traceSampleRatio: 0,
    log: aSilentLogger(),
  });
  const throttle = createThrottle({ ...LIMIT, maxNames: 1_000, isShared: true });
  const heard = new Set<string>();
  const observed: Throttle = {
    ...throttle,
    hear(taken, usedMs) {
      throttle.hear(taken, usedMs);
      heard.add(taken.name);
    },
  };
  const sharing = shareThrottles({ test: observed }, { urls, log, meter: telemetry.meter });
  closing.push(async () => {
    await sharing.close();
    await telemetry.shutdown();
  });
  const take = (name: string): boolean => throttle.takeRequest(name).isAllowed;
  return {
    take,
    takeAll(name) {
      let taken = 0;
      while (take(name)) taken += 1;
      return taken;
    },
    async untilConnected() {
      throttle.takeRequest('to connect');
      await until('an exchange that is done', async () => (await this.exchanges('done')) > 0);
    },
    async untilExchanged(name) {
      heard.delete(name);
      await until('an exchange', () => heard.has(name));
    },
    logged,
    async exchanges(outcome) {
      const samples = await readMetrics(telemetry);
      return samples.get(`turnpike_throttle_exchanges_total{outcome="${outcome}"}`) ?? 0;
    },
  };
}

it('what one replica let through is counted by another as soon as that has exchanged', async () => {
  const [one, other] = [openReplica(), openReplica()];
  await Promise.all([one.untilConnected(), other.untilConnected()]);
  expect(one.takeAll('a')).toBe(100);
  await one.untilExchanged('a');
  expect(other.take('a')).toBe(true);
  await other.untilExchanged('a');
  expect(other.take('a')).toBe(false);
  expect(other.takeAll('b')).toBe(100);
  expect(await other.exchanges('done')).toBeGreaterThan(0);
});

it('a replica that starts knows after its first exchange what was used before', async () => {
  const before = openReplica();
  await before.untilConnected();
  expect(before.takeAll('restarted')).toBe(100);
  await before.untilExchanged('restarted');
  const after = openReplica();
  await after.untilConnected();
  expect(after.take('restarted')).toBe(true);
  await after.untilExchanged('restarted');
  expect(after.takeAll('restarted')).toBe(0);
});

it('tells of 250 names at most at a time, and of others when they come first after that', async () => {
  const one = openReplica();
  await one.untilConnected();
  const names = Array.from({ length: MAX_TOLD + 50 }, (_, nth) => `flood ${nth}`);
  for (const name of names) one.take(name);
  await one.untilExchanged('flood 0');
  expect(await redis.keys('{throttle:test}:flood *')).toHaveLength(MAX_TOLD);
  for (const name of names.toReversed()) one.take(name);
  await until('the others to be told', async () => (await redis.exists(`{throttle:test}:${names.at(-1)}`)) === 1);
});

it('while Redis is silent each replica keeps the limit by itself and says so, and shares it again afterwards', async () => {
  const [one, other] = [openReplica(), openReplica()];
  server.freeze();
  try {
    for (const replica of [one, other]) expect(replica.takeAll('c')).toBe(100);
    await until('the failure to be counted', async () => (await one.exchanges('failed')) > 0);
    await until('each to say so', () => [one, other].every(({ logged }) => logged.length > 0));
    for (const replica of [one, other]) expect(replica.takeAll('d')).toBe(100);
  } finally {
    server.thaw();
  }
  const failing = 'limits are not shared: each replica lets through as many requests as all may together';
  const isBack = ({ logged }: Replica): boolean => logged.includes(`info over: ${failing}`);
  await until('both to be back', () => isBack(one) && isBack(other));
  for (const { logged } of [one, other]) expect(logged).toEqual([`error ${failing}`, `info over: ${failing}`]);
  expect(one.takeAll('e')).toBe(100);
  await one.untilExchanged('e');
  expect(other.take('e')).toBe(true);
  await other.untilExchanged('e');
  expect(other.take('e')).toBe(false);
});

it('what was let through while Redis was away is nobody’s debt afterwards', async () => {
  const one = openReplica();
  server.freeze();
  try {
    expect(one.takeAll('f')).toBe(100);
    await until('it to be told in vain', async () => (await one.exchanges('failed')) > 0);
  } finally {
    server.thaw();
  }
  const other = openReplica();
  await other.untilConnected();
  expect(other.take('f')).toBe(true);
  await other.untilExchanged('f');
  expect(other.takeAll('f')).toBeGreaterThan(0);
});

it('needs no more of Redis than the rights that the operators are told of', async () => {
  const rights = '~{throttle:* +info +time +eval +evalsha +get +set';
  await redis.call('ACL', 'SETUSER', 'limits', 'reset', 'on', '>secret', ...rights.split(' '));
  const one = openReplica({ urls: [server.url.replace('//', '//limits:secret@')] });
  await one.untilConnected();
  const before = [...one.logged];
  one.take('g');
  await one.untilExchanged('g');
  expect(await redis.exists('{throttle:test}:g')).toBe(1);
  expect(one.logged).toEqual(before);
});

it('finds whoever serves its names in a cluster, and whoever does so after that', async () => {
  const cluster = await startRedisCluster();
  try {
    const slot = Number(await cluster.masters[0].run('cluster', 'keyslot', '{throttle:test}:a'));
    const nth = Math.floor(slot / (16_384 / 3));
    const serving = cluster.masters[nth] as ClusterNode;
    const urls = cluster.masters.filter((node) => node !== serving).map(({ url }) => url);
    const [one, other] = [openReplica({ urls }), openReplica({ urls })];

    let tries = 0;
    async function expectShared(round: string): Promise<void> {
      // Requests published to a node that cannot take them are lost.
      const before = [await one.exchanges('done'), await other.exchanges('done')];
      await until('both to exchange', async () => {
        tries += 1;
        for (const replica of [one, other]) replica.take(`${round} ${tries}`);
        return (await one.exchanges('done')) > (before[0] ?? 0) && (await other.exchanges('done')) > (before[1] ?? 0);
      });
      expect(one.takeAll(round)).toBe(100);
      await one.untilExchanged(round);
      expect(other.take(round)).toBe(true);
      await other.untilExchanged(round);
      expect(other.take(round)).toBe(false);
    }

    await expectShared('before');
    serving.freeze();
    try {
      await until('the replica to take over', async () =>
        ((await cluster.replicas[nth]?.run('info', 'replication')) ?? '').includes('role:master'),
      );
      await expectShared('after');
    } finally {
      serving.thaw();
    }
  } finally {
    for (const close of closing.splice(0)) await close();
    await cluster.stop();
  }
});
