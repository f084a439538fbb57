import { afterEach, expect, it, jest } from '@jest/globals';
import { hastenPauses } from '@turnpike/lifecycle/test/hastenPauses';
import { until } from '@turnpike/test-support/until';
import type { EngineBehaviour, Fleet } from '../../test/aFleet.ts';
import { aPricedModel } from '../../test/aPricedModel.ts';
import type { OutReason } from '../health/engineHealth.ts';
import { MAX_MISSED_CHECKS } from '../health/limits.ts';
import type { Engine } from './engine.ts';
import type { CallNews } from './engineRegistry.ts';
import * as limits from './terms/limits.ts';

/** Short, as a test holds the process up for longer again and again. */
const CHECK_TIMEOUT_MS = 500;
hastenPauses(10);
jest.unstable_mockModule('./terms/limits.ts', () => ({ ...limits, CHECK_TIMEOUT_MS }));
const { aFleet } = await import('../../test/aFleet.ts');

let fleet: Fleet | undefined;
afterEach(() => fleet?.close());

const wellBehaved: EngineBehaviour = () => false;
const mute: EngineBehaviour = () => true;
/** Answers everything but inference. */
const without =
  (answer: (res: Parameters<EngineBehaviour>[1]) => unknown): EngineBehaviour =>
  (req, res) => {
    if (req.method !== 'POST') return false;
    answer(res);
    return true;
  };

async function start(...behaviours: EngineBehaviour[]): Promise<Fleet & { one: Engine }> {
  fleet = await aFleet(behaviours);
  const [one] = fleet.engines;
  if (!one) throw new Error('no engines');
  return { ...fleet, one };
}
const untilHealthy = (...engines: Engine[]) =>
  until('the engines to be in', () => engines.every(({ isHealthy }) => isHealthy));
const failing = (workspaceId: string) => ({ kind: 'failed', workspaceId }) as const;

it('has an engine in once it has produced a token, and not because it says that it is well', async () => {
  const { one, behave } = await start(without((res) => res.writeHead(500).end()));
  await until('a trial to fail', () => one.health.probedAtMs > 0);
  expect([one.health.isReachable, one.isHealthy, one.state]).toEqual([true, false, 'starting']);
  behave(0, wellBehaved);
  await untilHealthy(one);
});

it('asks an engine that serves no chat for a vector, and one that is in for nothing more', async () => {
  const { one, asked } = await start((req, res) => {
    if (req.method !== 'POST') return false;
    if (req.url === '/v1/embeddings') res.end('{"data":[{"embedding":[0.1]}]}');
    else res.writeHead(404).end('{"error":{"message":"Not Found"}}');
    return true;
  });
  await untilHealthy(one);
  const rounds = () => asked[0]?.filter((path) => path === '/health').length ?? 0;
  await until('it to be looked at again', () => rounds() > 1);
  expect(asked[0]?.filter((path) => path === '/v1/embeddings')).toHaveLength(1);
});

it('leaves an engine out that refused a connection, and takes it back when it answers', async () => {
  const { one, registry } = await start(wellBehaved);
  await untilHealthy(one);
  one.load.prefixes.add([1], 1);
  registry.report(one, { kind: 'refused' });
  expect([one.isHealthy, one.state, one.health.outReason]).toEqual([false, 'out', 'refused']);
  await untilHealthy(one);
  expect(one.load.prefixes.match([1])).toBe(0);
});

it('keeps an engine whatever one caller’s calls do, as long as it answers a probe', async () => {
  const { one, engines, registry } = await start(wellBehaved, wellBehaved);
  await untilHealthy(...engines);
  const { probedAtMs } = one.health;
  for (let call = 0; call < 100; call += 1) registry.report(one, failing('ws_hostile'));
  await until('it to be proved', () => one.health.probedAtMs > probedAtMs);
  expect(one.isHealthy).toBe(true);
});

it('leaves an engine out after five failed calls on end of several callers, but never the last one of a model', async () => {
  const { one, engines, registry } = await start(wellBehaved, wellBehaved);
  await untilHealthy(...engines);
  for (const workspaceId of ['ws_1', 'ws_1', 'ws_2', 'ws_1', 'ws_1']) registry.report(one, failing(workspaceId));
  expect([one.isHealthy, one.health.outReason]).toEqual([false, 'failed_calls']);
  const [, other] = engines;
  if (!other) throw new Error('no other engine');
  for (let call = 0; call < 50; call += 1) registry.report(other, failing(`ws_${call}`));
  expect(other.isHealthy).toBe(true);
});

it('leaves an engine out that one caller found broken and that produces no token', async () => {
  const { one, engines, behave, registry } = await start(wellBehaved, wellBehaved);
  await untilHealthy(...engines);
  behave(
    0,
    without((res) => res.socket?.destroy()),
  );
  registry.report(one, failing('ws_1'));
  await until('it to be out', () => one.health.outReason === 'no_token');
  behave(0, wellBehaved);
  await untilHealthy(one);
});

it('leaves an engine out that hangs though it says it is well', async () => {
  const { one, engines, behave, registry } = await start(wellBehaved, wellBehaved);
  await untilHealthy(...engines);
  behave(
    0,
    without(() => {}),
  );
  registry.report(one, { kind: 'silent' });
  await until('it to be out', () => one.health.outReason === 'no_token');
});

const holdUp = (forMs: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, forMs);

it('keeps its engines while this process itself is held up at each of their checks', async () => {
  const { engines, behave } = await start(wellBehaved, wellBehaved);
  await untilHealthy(...engines);
  let checks = 0;
  for (const index of engines.keys())
    behave(index, (req) => {
      if (req.url !== '/health') return false;
      holdUp(CHECK_TIMEOUT_MS + 200);
      checks += 1;
      return false;
    });
  await until('each to be checked more often than may be missed', () => checks > 2 * (MAX_MISSED_CHECKS + 1));
  expect(engines.map(({ health }) => [health.state, health.outReason])).toEqual(engines.map(() => ['in', undefined]));
});

it('keeps an engine while this process itself is held up at its probe', async () => {
  const { one, engines, behave, registry } = await start(wellBehaved, wellBehaved);
  await untilHealthy(...engines);
  const { probedAtMs } = one.health;
  behave(
    0,
    without((res) => {
      holdUp(11_000);
      setTimeout(() => res.end('{"choices":[{"index":0}]}'), 100);
    }),
  );
  registry.report(one, failing('ws_1'));
  await until('it to be proved', () => one.health.probedAtMs > probedAtMs);
  expect([one.health.state, one.health.outReason]).toEqual(['in', undefined]);
});

const saysAsleep: EngineBehaviour = (req, res) => {
  if (req.url === '/metrics') res.end('vllm:engine_sleep_state{engine="0",sleep_state="discard_all"} 1\n');
  return req.url === '/metrics';
};
const saysUnwell: EngineBehaviour = (req, res) => {
  if (req.url === '/health') res.writeHead(503).end();
  return req.url === '/health';
};

it.each<[string, EngineBehaviour, CallNews['kind'] | undefined]>([
  ['answers no check', mute, undefined],
  ['produces no token', without((res) => res.writeHead(500).end()), 'silent'],
  ['breaks connections off', without((res) => res.socket?.destroy()), 'failed'],
  ['cannot be reached', mute, 'unreached'],
])('keeps the last engine of a model in doubt that %s, until another is in', async (_case, behaviour, kind) => {
  const { one, engines, behave, registry } = await start(wellBehaved, saysUnwell);
  const [, other] = engines;
  if (!other) throw new Error('no other engine');
  await untilHealthy(one);
  behave(0, behaviour);
  const { probedAtMs } = one.health;
  const { missedCheck } = one.health;
  let suspicions = 0;
  one.health.missedCheck = () => {
    const isMany = missedCheck.call(one.health);
    if (isMany) suspicions += 1;
    return isMany;
  };
  for (let call = 0; kind && call < 10; call += 1) registry.report(one, { kind, workspaceId: `ws_${call}` });
  await until('it to be suspected', () => one.health.probedAtMs > probedAtMs || suspicions > 0);
  await until('that to be judged', () => one.health.state === 'doubted');
  expect([one.isHealthy, one.health.outReason]).toEqual([true, undefined]);
  behave(1, wellBehaved);
  await until('it to be out', () => one.health.state === 'out');
  expect(other.isHealthy).toBe(true);
  behave(0, wellBehaved);
  await untilHealthy(one);
});

it.each<[string, EngineBehaviour, OutReason]>([
  ['says that it is not well', saysUnwell, 'unwell'],
  ['sleeps', saysAsleep, 'asleep'],
  ['refuses connections', wellBehaved, 'refused'],
])('leaves the last engine of a model out that %s', async (_case, behaviour, reason) => {
  const { one, behave, registry } = await start(wellBehaved);
  await untilHealthy(one);
  behave(0, behaviour);
  if (reason === 'refused') registry.report(one, { kind: 'refused' });
  await until('it to be out', () => one.health.outReason === reason);
  expect(one.isHealthy).toBe(false);
});

it('has the engine take calls that was doubted least recently, where the last one in refuses connections', async () => {
  const { engines, registry } = await start(...Array.from({ length: 4 }, () => wellBehaved));
  await untilHealthy(...engines);
  const [first, second, third, last] = engines as [Engine, Engine, Engine, Engine];
  for (const { health } of [first, second, third]) health.beginProbe = () => false;
  registry.report(first, { kind: 'refused' });
  for (const engine of [third, second]) registry.report(engine, { kind: 'unreached' });
  expect(engines.map(({ isHealthy }) => isHealthy)).toEqual([false, false, false, true]);
  registry.report(last, { kind: 'refused' });
  expect([engines.map(({ isHealthy }) => isHealthy), third.health.state]).toEqual([
    [false, false, true, false],
    'doubted',
  ]);
});

it('notices an engine that sleeps, however well it says it is', async () => {
  const { one, behave } = await start(wellBehaved);
  await untilHealthy(one);
  behave(0, saysAsleep);
  await until('it to be out', () => one.health.outReason === 'asleep');
});

it.each<[string, EngineBehaviour]>([
  ['fail', (_req, res) => Boolean(res.writeHead(500).end('Internal Server Error'))],
  ['never come', mute],
])('keeps an engine in whose metrics %s', async (_how, answer) => {
  const { one, asked } = await start((req, res) => req.url === '/metrics' && answer(req, res));
  await untilHealthy(one);
  const questions = () => asked[0]?.filter((path) => path === '/metrics').length ?? 0;
  await until('them to be asked for again', () => questions() >= 2);
  expect(one.isHealthy).toBe(true);
});

/** How often a call that waits there was told to leave. */
function aCallThatWaitsOn(engine: Engine): { told: number } {
  const call = { told: 0 };
  engine.unheardCalls.add({
    isStream: true,
    leave() {
      call.told += 1;
    },
  });
  return call;
}

it('lets streams leave an engine that does not answer before whole answers, which have longer to wait', async () => {
  const { one, registry } = await start(wellBehaved, wellBehaved);
  await untilHealthy(one);
  const told: string[] = [];
  for (const name of ['whole 1', 'stream 1', 'whole 2', 'stream 2'])
    one.unheardCalls.add({ isStream: name.startsWith('stream'), leave: () => void told.push(name) });
  registry.report(one, { kind: 'refused' });
  expect(told).toEqual(['stream 1', 'stream 2', 'whole 1', 'whole 2']);
});

it('tells calls that wait on an engine that produces no token, also when failed calls had left it out before', async () => {
  const { one, engines, behave, registry } = await start(wellBehaved, wellBehaved);
  await untilHealthy(...engines);
  const call = aCallThatWaitsOn(one);
  behave(
    0,
    without((res) => res.socket?.destroy()),
  );
  for (const workspaceId of ['ws_1', 'ws_1', 'ws_2', 'ws_1', 'ws_1']) registry.report(one, failing(workspaceId));
  expect([one.health.outReason, call.told]).toEqual(['failed_calls', 0]);
  await until('a trial has failed', () => call.told > 0);
});

it('tells no calls of an engine that others still hear from, nor of one that drains and takes no connections', async () => {
  const held = new Set<string>();
  fleet = await aFleet([wellBehaved, wellBehaved], { cordoned: held });
  const { registry, engines } = fleet;
  const [heard, draining] = engines;
  if (!heard || !draining) throw new Error('no engines');
  await untilHealthy(heard, draining);
  const calls = [heard, draining].map(aCallThatWaitsOn);
  heard.traffic.heardAtMs = performance.now();
  registry.report(heard, { kind: 'refused' });
  held.add(draining.id);
  registry.report(draining, { kind: 'refused' });
  expect(calls).toEqual([{ told: 0 }, { told: 0 }]);
  held.clear();
  registry.report(draining, { kind: 'refused' });
  expect(calls).toEqual([{ told: 0 }, { told: 1 }]);
});

it('does not let an engine that never answers delay another', async () => {
  const { engines } = await start(mute, wellBehaved);
  await until('the other to be in', () => engines[1]?.isHealthy === true);
  expect(engines[0]?.isHealthy).toBe(false);
});

it('gives an engine no call for a moment whose probe finds it full, and has it in', async () => {
  const { one, behave, registry } = await start(wellBehaved);
  await untilHealthy(one);
  const { room } = one;
  const { sayBusy } = room;
  let hadRoom: boolean | undefined;
  room.sayBusy = () => {
    sayBusy.call(room);
    hadRoom = room.hasRoomFor(1);
  };
  behave(
    0,
    without((res) => res.writeHead(503).end()),
  );
  registry.report(one, failing('ws_1'));
  await until('the probe to find it full', () => hadRoom !== undefined);
  expect([hadRoom, one.isHealthy, one.state]).toEqual([false, true, 'ready']);
});

it('drains what the file no longer lists or says to drain, and takes up what it adds, with what it knew', async () => {
  const { one, engines, registry, entries, writeFile } = await start(wellBehaved, wellBehaved, wellBehaved);
  await untilHealthy(...engines);
  const [, second, third] = engines;
  if (!second || !third) throw new Error('no engines');
  second.traffic.openCalls = 1;
  const [first] = entries;
  writeFile(
    JSON.stringify({
      engines: [
        { ...first, weight: 3 },
        { ...entries[2], draining: true },
      ],
    }),
  );
  await until('the file to be read', () => one.weight === 3);
  expect(registry.list()).toContain(one);
  expect(engines.map(({ state }) => state)).toEqual(['ready', 'draining', 'draining']);
  second.traffic.openCalls = 0;
  await until('the finished one to be gone', () => !registry.list().includes(second));
  writeFile(JSON.stringify({ engines: entries }));
  await until('all to be back', () => registry.list().filter(({ isHealthy }) => isHealthy).length === 3);
});

it('drains an engine that an operator holds back', async () => {
  const held = new Set<string>();
  fleet = await aFleet([wellBehaved, wellBehaved], { cordoned: held });
  await untilHealthy(...fleet.engines);
  held.add('e1');
  expect(fleet.engines.map(({ isHealthy, state }) => [isHealthy, state])).toEqual([
    [true, 'ready'],
    [false, 'draining'],
  ]);
});

it('bounds calls by the window of the engines where the catalog says more', async () => {
  const { one, registry } = await start(wellBehaved);
  await untilHealthy(one);
  const model = aPricedModel({ contextLength: 8_192, maxOutputLength: 8_192 });
  expect(registry.fitWindow(model)).toMatchObject({ contextLength: 4_096, maxOutputLength: 4_096 });
  const small = aPricedModel({ contextLength: 2_048 });
  expect(registry.fitWindow(small)).toBe(small);
});
