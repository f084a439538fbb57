import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { connectRedis } from '@turnpike/redis-connection/connectRedis';
import { type FaultProxy, openFaultProxy } from '@turnpike/test-support/faultProxy';
import { startRedis, type TestRedis } from '@turnpike/test-support/startRedis';
import { until } from '@turnpike/test-support/until';
import type { Redis } from 'ioredis';
import { allCountAll, aTellingRouter, HASHES, type TellingRouter } from '../../test/aTellingRouter.ts';

let server: TestRedis;
/** The way by which routers hear each other; what they say goes straight to the server. */
let way: FaultProxy;
let connections: Redis[];
beforeAll(async () => {
  server = await startRedis();
  way = await openFaultProxy(server.port);
});
afterAll(async () => {
  await way.close();
  await server.stop();
});

let routers: TellingRouter[];
beforeEach(() => {
  connections = [];
  routers = ['one', 'other', 'third'].map((name) => {
    const redis = aWay();
    return aTellingRouter(name, { having: () => ({ redis }) });
  });
});
/** Connections of one router. */
function aWay() {
  const connect = (port: number): Redis => connectRedis(`redis://127.0.0.1:${port}`, { timeoutMs: 1_000 });
  const [speaking, hearing] = [connect(server.port), connect(way.port)];
  connections.push(speaking, hearing);
  return {
    options: speaking.options,
    spublish: speaking.spublish.bind(speaking),
    duplicate: hearing.duplicate.bind(hearing),
  };
}
afterEach(async () => {
  await Promise.all(routers.map((router) => router.close()));
  for (const connection of connections) connection.disconnect();
});

it('tells each router what all others have under way, where their prompts are, and that it has ended', async () => {
  expect(await allCountAll(routers)).toBeGreaterThan(100);
  for (const { load } of routers) expect(load.prefixes.match(HASHES)).toBe(HASHES.length);
  for (const { placed } of routers) placed?.end({ kind: 'left_midway' });
  expect(await allCountAll(routers)).toBe(0);
});

it('hears again after its connection was cut, and after one that was lost without a word', async () => {
  for (const spoil of [way.reset, way.lose]) {
    const before = await allCountAll(routers);
    spoil();
    for (const { place } of routers) place();
    expect(await allCountAll(routers)).toBeGreaterThan(before);
  }
});

it('counts its own work alone where nothing is heard, and all again once it can be', async () => {
  await allCountAll(routers);
  await way.become({ resetOnAccept: true });
  way.reset();
  await until('each to count its own alone', () =>
    routers.every((router) => router.news.others === 0 && router.load.loadTokens === router.ownTokens()),
  );
  await way.become({});
  await allCountAll(routers);
});

it('says once that others are not told or not heard, and once that it is over', async () => {
  const said: string[] = [];
  const say = (...[, line]: unknown[]): unknown => said.push(String(line));
  const log = Object.assign(aSilentLogger(), { warn: say, info: say });
  let isAway = true;
  const redis = aWay();
  const spublish: typeof redis.spublish = (...args) =>
    isAway ? Promise.reject(new Error('nobody listens')) : redis.spublish(...args);
  const router = aTellingRouter('fourth', { having: () => ({ redis: { ...redis, spublish } }) }, log);
  routers.push(router);
  await until('it to be noticed that nothing is heard', () => said.length >= 2);
  router.place();
  isAway = false;
  await allCountAll(routers);
  await until('it to be said', () => said.length >= 4);
  const [untold, unheard] = [/^(over: )?other routers cannot be told/, /^(over: )?other routers are not heard/];
  expect(said.map((line) => (untold.test(line) ? 'untold' : unheard.test(line) && 'unheard')).toSorted()).toEqual([
    'unheard',
    'unheard',
    'untold',
    'untold',
  ]);
});
