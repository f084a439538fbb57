import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { hastenPauses } from '@turnpike/lifecycle/test/hastenPauses';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { noMetrics } from '@turnpike/telemetry/noTelemetry';
import { aTemporaryFolder } from '@turnpike/test-support/folders';
import { until } from '@turnpike/test-support/until';
import type { EngineRegistry } from '../src/engines/engineRegistry.ts';
import { anOpenCall, type RecordedCall } from './anOpenCall.ts';
import { aPricedModel } from './aPricedModel.ts';
import type { ServedCall } from './serveCall.ts';
import { type Simulators, startSimulators } from './startSimulators.ts';

// Engines are looked at more often.
hastenPauses(5);
const { createEngineRegistry } = await import('../src/engines/engineRegistry.ts');
const { Placer } = await import('../src/placement/placer.ts');
const { serveCall } = await import('./serveCall.ts');

const ENGINES = 3;
const AT_ONCE = 8;
const model = aPricedModel();

let simulators: Simulators;
let registry: EngineRegistry;
let enginesFile: string;
let served: ServedCall;
beforeAll(async () => {
  simulators = await startSimulators(model.id, ENGINES);
});
afterAll(() => simulators.stop());
beforeEach(async () => {
  enginesFile = join(await aTemporaryFolder(), 'engines.json');
  listEngines(simulators.ports);
  registry = createEngineRegistry({
    enginesFile,
    kubernetes: undefined,
    cordoned: new Set(),
    room: { calls: 1_000, tokens: 1_000_000 },
    metrics: noMetrics,
    log: aSilentLogger(),
  });
  served = await serveCall({
    engines: [],
    registry,
    placer: new Placer(),
    nextCall: () => anOpenCall({ callId: randomUUID() }),
  });
  await untilHealthy(ENGINES);
});
afterEach(async () => {
  served.close();
  await registry.close();
  await simulators.reset();
});

function listEngines(ports: number[]): void {
  const engines = ports.map((port) => ({ id: String(port), url: `http://127.0.0.1:${port}`, model: model.id }));
  writeFileSync(enginesFile, JSON.stringify({ engines }));
}

const healthy = () => registry.list().filter(({ isHealthy }) => isHealthy);
const untilHealthy = (count: number) => until(`${count} engines to be in`, () => healthy().length === count);
const engineOn = (port: number | undefined) => registry.list().find(({ id }) => id === String(port));

/** Makes calls, eight at a time; how many were answered to the end. */
async function call(count: number): Promise<number> {
  let left = count;
  let answered = 0;
  const client = async (): Promise<void> => {
    while (left-- > 0) {
      const response = await fetch(served.url);
      if ((await response.text()).endsWith('data: [DONE]\n\n')) answered += 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  return answered;
}
const sum = (counts: Map<number, number>): number => [...counts.values()].reduce((total, count) => total + count, 0);

it('answers 999 of 1,000 calls though one request in twelve is reset, with a tenth more work at most', async () => {
  await simulators.order('faults', [{ match: { everyNth: 12 }, fault: 'reset_before_headers' }]);
  const before = sum(await simulators.countCalls());
  expect(await call(1_000)).toBeGreaterThanOrEqual(999);
  expect(sum(await simulators.countCalls()) - before).toBeLessThanOrEqual(1_100);
  await untilHealthy(ENGINES);
});

it('leaves a dead engine of three out after five failed calls and those under way, and takes it back with nothing cached', async () => {
  const [dead] = simulators.ports;
  const prefixes = () => engineOn(dead)?.load.prefixes;
  prefixes()?.add([1], 1);
  let failed = 0;
  const { report } = registry;
  registry.report = (engine, news) => {
    if (engine.id === String(dead) && ['failed', 'refused'].includes(news.kind)) failed += 1;
    report(engine, news);
  };
  await simulators.order('config', { port: dead, watchdogMs: 100 });
  await simulators.order('state', { port: dead, state: 'dead' });
  expect(await call(100)).toBe(100);
  await until('it to be out', () => engineOn(dead)?.state === 'out');
  expect(failed).toBeLessThanOrEqual(5 + AT_ONCE);
  await until('it to be gone', () => prefixes()?.match([1]) === 0);
  await simulators.order('state', { port: dead, state: 'serving' });
  await untilHealthy(ENGINES);
});

it.each<[string, object]>([
  ['accepts connections and closes them', { state: 'cutting' }],
  ['refuses connections', { state: 'refusing' }],
])('answers every call while an engine %s, and leaves it out', async (_case, state) => {
  const [bad] = simulators.ports;
  await simulators.order('state', { port: bad, ...state });
  expect(await call(100)).toBe(100);
  await until('it to be out', () => engineOn(bad)?.state === 'out');
});

it.each(['http_500', 'http_500_flat', 'http_500_empty', 'http_500_html', 'http_404', 'http_401', 'error_event'])(
  'leaves an engine out that says it is well and answers calls with %s, and fails no call of many for it',
  async (fault) => {
    const [bad] = simulators.ports;
    await simulators.order('faults', [{ match: { port: bad }, fault, after: 0 }]);
    expect(await call(20)).toBe(20);
    await until('it to be out', () => engineOn(bad)?.state === 'out');
  },
);

it('sends an engine that drains nothing but a try now and then, and fails no call for it', async () => {
  const [draining] = simulators.ports;
  const room = engineOn(draining)?.room;
  if (!room) throw new Error('no such engine');
  const { sayBusy } = room;
  const hadRoomAfterRefusing: boolean[] = [];
  room.sayBusy = () => {
    sayBusy.call(room);
    hadRoomAfterRefusing.push(room.hasRoomFor(1));
  };
  await simulators.order('state', { port: draining, state: 'draining' });
  const beganAt = performance.now();
  expect(await call(200)).toBe(200);
  expect(new Set(hadRoomAfterRefusing)).toEqual(new Set([false]));
  // All that came at once, and then one call each time that its room was open again.
  expect(hadRoomAfterRefusing.length).toBeLessThanOrEqual(AT_ONCE + (performance.now() - beganAt) / 250);
});

it('answers every call where every engine refuses with 503 what is more than it runs', async () => {
  await simulators.order('config', { maxNumSeqs: 1, queueCap: 1 });
  expect(await call(200)).toBe(200);
  const answers = await Promise.all(Array.from({ length: 40 }, () => fetch(served.url)));
  const texts = await Promise.all(answers.map((answer) => answer.text()));
  expect(texts.filter((text) => text.endsWith('data: [DONE]\n\n'))).toHaveLength(40);
  await untilHealthy(ENGINES);
});

it('gives a prompt that kills engines two of them at most, and serves the others from what is left', async () => {
  await simulators.order('config', { watchdogMs: 600_000 });
  const poison = [{ role: 'user', content: '[[sim: fault=engine_dies after=0]]' }];
  const killing = await serveCall({ engines: [], registry, fields: { stream: true, messages: poison } });
  try {
    expect((await fetch(killing.url)).status).toBe(500);
  } finally {
    killing.close();
  }
  const statuses = await Promise.all(
    simulators.ports.map(async (port) => (await fetch(`http://127.0.0.1:${port}/health`)).status),
  );
  expect(statuses.toSorted()).toEqual([200, 503, 503]);
  await untilHealthy(1);
  expect(await call(20)).toBe(20);
  await simulators.order('state', { state: 'serving' });
  await untilHealthy(ENGINES);
});

it.each([
  ['nothing but its end', '[[sim: tokens=1]]', 1],
  ['thoughts alone', '[[sim: reasoning="Let me think" text=""]]', 4],
])(
  'takes an answer of %s for an answer, whole and streamed, and bills what was counted',
  async (_what, content, tokens) => {
    const asked = { engines: [], registry };
    for (const fields of [{ stream: true }, {}]) {
      const served = await serveCall({ ...asked, fields: { ...fields, messages: [{ role: 'user', content }] } });
      const text = await (await fetch(served.url)).text();
      served.close();
      expect(text).toContain('"finish_reason":"stop"');
      expect(served.call.endings).toMatchObject([{ status: 'success', usage: { completionTokens: tokens } }]);
    }
  },
);

it('starves or leaves out an engine that is ten times slower than the others', async () => {
  const [slow = 0] = simulators.ports;
  await simulators.order('config', { timeToFirstTokenMs: 20, interTokenMs: 2 });
  await simulators.order('config', { port: slow, slowFactor: 10 });
  await call(100);
  const before = await simulators.countCalls();
  await call(300);
  const after = await simulators.countCalls();
  const taken = (after.get(slow) ?? 0) - (before.get(slow) ?? 0);
  expect(taken).toBeLessThanOrEqual(60); // an equal share is 100
});

it('notices an engine that sleeps while it says it is well', async () => {
  const [asleep] = simulators.ports;
  await simulators.order('state', { port: asleep, state: 'asleep' });
  await until('it to be out', () => engineOn(asleep)?.health.outReason === 'asleep');
  expect(await call(20)).toBe(20);
  await simulators.order('state', { port: asleep, state: 'serving' });
  await untilHealthy(ENGINES);
});

it('has calls that heard nothing of a frozen engine answered by another once it is out, and the others when it thaws', async () => {
  const frozen = await startSimulators(model.id, 1);
  const [port] = frozen.ports;
  const opened: ServedCall[] = [];
  try {
    listEngines([...simulators.ports, ...frozen.ports]);
    await untilHealthy(ENGINES + 1);
    const calls: RecordedCall[] = [];
    const options = {
      engines: [],
      // The frozen one comes first, and takes every call as long as it is in.
      registry: { ...registry, findEngines: (wanted: typeof model) => registry.findEngines(wanted).toReversed() },
      // A deadline of its own saves no call in time.
      timeouts: { firstEventMs: 600_000, wholeMs: 600_000 },
      nextCall() {
        const call = anOpenCall({ callId: randomUUID() });
        calls.push(call);
        return call;
      },
    };
    opened.push(await serveCall(options), await serveCall({ ...options, fields: {} }));
    frozen.freeze();
    let answered = 0;
    const all = opened.flatMap(({ url }) => Array.from({ length: 6 }, () => fetch(url)));
    const texts = all.map(async (response) => {
      const text = await (await response).text();
      answered += 1;
      return text;
    });
    const waiting = () => engineOn(port)?.traffic.openCalls ?? 0;
    await until('the frozen engine to have them', () => waiting() + answered >= texts.length);
    const budget = registry.retries.left;
    expect(budget).toBeLessThan(texts.length);
    await until('as many to be answered as may be tried again', () => answered >= budget);
    expect(engineOn(port)?.health.outReason).toBe('unreachable');
    frozen.thaw();
    for (const text of await Promise.all(texts))
      expect(text).toMatch(/data: \[DONE\]\n\n$|"finish_reason":"(stop|length)"/);
    expect(calls.map(({ endings }) => endings.map(({ status }) => status))).toEqual(calls.map(() => ['success']));
    expect(calls).toHaveLength(texts.length);
    expect(engineOn(port)?.unheardCalls.size).toBe(0);
  } finally {
    for (const { close } of opened) close();
    frozen.thaw();
    await frozen.stop();
  }
});
