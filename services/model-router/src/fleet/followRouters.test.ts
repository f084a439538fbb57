import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
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
    const connect = (port: number): Redis => connectRedis(`redis://127.0.0.1:${port}`, { timeoutMs: 1_000 });
    const [speaking, hearing] = [connect(server.port), connect(way.port)];
    connections.push(speaking, hearing);
    const redis = {
      options: speaking.options,
      spublish: speaking.spublish.bind(speaking),
      duplicate: hearing.duplicate.bind(hearing),
    };
    return aTellingRouter(name, { having: () => ({ redis }) });
  });
});
afterEach(async () => {
  await Promise.all(routers.map((router) => router.close()));
  for (const connection of connections) connection.disconnect();
});

it('tells each router what all others have under way, where their prompts are, and that it has ended', async () => {
  expect(await allCountAll(routers)).toBeGreaterThan(100);
  for (const { load } of routers) expect(load.prefixes.match(HASHES)).toBe(HASHES.length);
  for (const { placed } of routers) placed?.end({ kind: 'dropped', isError: false });
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
