import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { ApiError } from '@turnpike/public-api/apiError';
import { noMetrics } from '@turnpike/telemetry/noTelemetry';
import { anEngine } from '../../test/anEngine.ts';
import { anEngineQueue } from '../../test/anEngineQueue.ts';
import { aPlacement } from '../../test/aPlacement.ts';
import { aReport } from '../../test/aReport.ts';
import type { Engine } from '../engines/engine.ts';
import type { EngineQueue, Turn } from './engineQueue.ts';
import type { Attempt, QueueableCall } from './placer.ts';
import { Placer } from './placer.ts';

const MODEL = 'small-chat';
/** For so many calls at a time. */
const ROOM = { calls: 2, tokens: 1_000_000 };

const DROPPED = { kind: 'left_midway' } as const;

let engines: Engine[];
let queue: EngineQueue;
/** Calls in the order of their turns. */
let turns: string[];
beforeEach(() => {
  jest.useFakeTimers();
  engines = [anEngine('engine-1', { room: ROOM })];
  turns = [];
  queue = anEngineQueue();
});
afterEach(() => {
  jest.useRealTimers();
});

/** A call that any engine may have. */
const aCall = (fields: Partial<QueueableCall> = {}): QueueableCall => ({
  placement: aPlacement(),
  bytes: 100,
  res: Object.assign(new EventEmitter(), { destroyed: false }),
  findEngines: () => engines,
  mayLeave: () => false,
  report() {},
  ...fields,
});

interface Asked {
  turn: Promise<Turn>;
  placed(): Promise<Attempt>;
  leave(): void;
}

function ask(keyId: string, name = keyId, fields: Parameters<typeof aPlacement>[0] = {}): Asked {
  const res = Object.assign(new EventEmitter(), { destroyed: false });
  const turn = queue.place(aCall({ placement: aPlacement({ keyId, ...fields }), res }));
  void turn.then(({ kind }) => void (kind === 'placed' && turns.push(name)));
  return {
    turn,
    async placed() {
      const got = await turn;
      if (got.kind !== 'placed') throw new Error(`the call was not placed: ${got.kind}`);
      return got.attempt;
    },
    leave: () => void res.emit('close'),
  };
}
const waiting = (): number => [...queue.lengths()].reduce((sum, { calls }) => sum + calls, 0);
const settle = () => jest.advanceTimersByTimeAsync(0);

it('lets a key that comes last have its turn before the burst of another', async () => {
  const flood = Array.from({ length: 20 }, (_, index) => ask('flood', `flood ${index + 1}`));
  const single = ask('single');
  await settle();
  expect(turns).toEqual(['flood 1', 'flood 2']);
  expect(waiting()).toBe(19);

  (await flood[0]?.placed())?.end(DROPPED);
  (await flood[1]?.placed())?.end(DROPPED);
  await settle();
  // The first one waiting goes first, and then the single one.
  expect(turns.slice(2)).toEqual(['flood 3', 'single']);
  await single.placed();
});

it('takes a waiting client that leaves out at once, and goes on without it', async () => {
  const [first, , third, fourth] = ['1', '2', '3', '4'].map((name) => ask('key', name));
  third?.leave();
  expect(waiting()).toBe(1);
  expect(await third?.turn).toEqual({ kind: 'client_left' });
  (await first?.placed())?.end(DROPPED);
  await fourth?.placed();
  expect(turns).toEqual(['1', '2', '4']);
});

it('refuses a call whose turn does not come in time, with whole seconds to wait', async () => {
  const calls = ['1', '2', '3'].map((name) => ask('key', name));
  await jest.advanceTimersByTimeAsync(19_900);
  expect(waiting()).toBe(1);
  await jest.advanceTimersByTimeAsync(200);
  expect(await calls[2]?.turn).toEqual({ kind: 'refused', fault: { kind: 'overloaded', retryAfterSeconds: 1 } });
  expect(waiting()).toBe(0);
});

it('notices an engine that comes in while calls wait', async () => {
  for (const name of ['1', '2', '3']) ask('key', name);
  engines.push(anEngine('engine-2', { room: ROOM }));
  engines.reverse();
  await jest.advanceTimersByTimeAsync(100);
  expect(turns).toEqual(['1', '2', '3']);
});

it('gives one turn for each call that ends, however often it is said to have', async () => {
  const first = ask('key', '1');
  for (const name of ['2', '3', '4']) ask('key', name);
  const placed = await first.placed();
  placed.end(DROPPED);
  placed.end(DROPPED);
  await settle();
  expect(turns).toEqual(['1', '2', '3']);
});

it('lets nobody wait for a model that no engine serves', async () => {
  engines = [];
  expect(await ask('key').turn).toEqual({ kind: 'refused', fault: { kind: 'no_healthy_engine' } });
});

it('measures an engine once, whichever of its models a call is for', async () => {
  const first = ask('key', '1');
  ask('key', '2');
  const turn = queue.place(aCall({ placement: aPlacement({ modelId: 'other', keyId: 'key' }), bytes: 1 }));
  await settle();
  expect([...queue.lengths()]).toContainEqual({ model: 'other', calls: 1 });
  (await first.placed()).end(DROPPED);
  expect((await turn).kind).toBe('placed');
});

it('knows before a call is admitted that its key has its share of the queue', async () => {
  const call = { modelId: MODEL, keyId: 'flood', bytes: 100 };
  expect(() => queue.checkRoom(call)).not.toThrow();
  for (let count = 0; count < 52; count += 1) ask('flood');
  await settle();
  expect(() => queue.checkRoom(call)).toThrow(ApiError);
  expect(() => queue.checkRoom({ ...call, keyId: 'other' })).not.toThrow();
});

it('does not let a call wait again that an engine failed, and finds it room where there is some', async () => {
  for (const name of ['1', '2', '3']) ask('key', name);
  const placeAgain = (able: Engine[]) => {
    const turn = queue.placeAgain(aCall({ placement: aPlacement({ keyId: 'key' }), findEngines: () => able }));
    return turn.kind === 'placed' ? turn.attempt.engine : turn;
  };
  expect(placeAgain(engines)).toBe(engines[0]);
  const idle = anEngine('engine-2', { room: ROOM });
  expect(placeAgain([...engines, idle])).toBe(idle);
  expect(placeAgain([])).toEqual({ kind: 'refused', fault: { kind: 'no_healthy_engine' } });
});

it('leaves a call alone whose end gave a turn to one that goes wrong', async () => {
  const first = ask('key', '1');
  ask('key', '2');
  let lookUps = 0;
  const findEngines = () => {
    lookUps += 1;
    if (lookUps > 1) throw new Error('unforeseen');
    return engines;
  };
  const wrong = queue.place(aCall({ placement: aPlacement({ keyId: 'other' }), bytes: 1, findEngines }));
  const next = ask('key', '3');
  const placed = await first.placed();
  expect(() => placed.end(DROPPED)).not.toThrow();
  await expect(wrong).rejects.toThrow('unforeseen');
  await next.placed();
});

/** Room for eight calls, of which one key may have six. */
const EIGHT = { calls: 8, tokens: 1_000_000 };
function useEight(): void {
  engines = [anEngine('engine-1', { room: EIGHT })];
}
const askFor = (keyId: string, count: number, fields?: Parameters<typeof aPlacement>[0]): Asked[] =>
  Array.from({ length: count }, (_, index) => ask(keyId, `${keyId} ${index + 1}`, fields));

it.each([
  ['streams', true],
  ['whole answers', false],
])(
  'lets a key that fills an engine with %s have three quarters of it, and others find the rest',
  async (_case, isStream) => {
    useEight();
    const flood = askFor('flood', 20, { isStream });
    await settle();
    expect([turns.length, waiting()]).toEqual([6, 14]);
    await Promise.all([ask('other').placed(), ask('third').placed()]);
    (await flood[0]?.placed())?.end(DROPPED);
    await settle();
    // Its share beside two others: it has five, three times what is free are three.
    expect([turns.length, waiting()]).toEqual([8, 14]);
  },
);

it('says of a call that it is its own key’s bound that keeps it, before it is admitted and after it has waited', async () => {
  const hits: string[] = [];
  const keyBoundHit = (bound: string, keyId: string) => void hits.push(`${bound} ${keyId}`);
  useEight();
  queue = anEngineQueue({ metrics: { ...noMetrics, keyBoundHit } });
  const flood = askFor('flood', 56);
  await jest.advanceTimersByTimeAsync(20_200);
  expect(await flood.at(-1)?.turn).toMatchObject({
    kind: 'refused',
    fault: { kind: 'key_bound_reached', bound: 'streams' },
  });
  for (let count = 0; count < 50; count += 1) ask('flood');
  const call = { modelId: MODEL, keyId: 'flood', bytes: 100 };
  expect(() => queue.checkRoom(call)).toThrow(
    expect.objectContaining({ fault: { kind: 'key_bound_reached', bound: 'streams', retryAfterSeconds: 1 } }),
  );
  expect(() => queue.checkRoom({ ...call, keyId: 'other' })).not.toThrow();
  // The code that answers the fault counts it.
  expect(hits).toEqual([]);
});

it('refuses no retry for its key’s bound', () => {
  useEight();
  askFor('flood', 7);
  expect(queue.placeAgain(aCall({ placement: aPlacement({ keyId: 'flood' }) })).kind).toBe('placed');
});

it('keeps a key whose streams may come to more than the caches hold from one of two engines, but for a part of its cache', async () => {
  engines = [1, 2].map((number) => anEngine(`engine-${number}`, { room: { calls: 200, tokens: 100_000 } }));
  queue = anEngineQueue({ placer: new Placer() });
  const tokens = { maxOutputTokens: 8_000 };
  askFor('flood', 100, tokens);
  await settle();
  const counts = () => engines.map(({ load }) => load.calls).sort((a, b) => a - b);
  // Three quarters of a cache hold nine.
  expect(counts()).toEqual([9, 91]);
  await Promise.all(askFor('other', 9, tokens).map((one) => one.placed()));
  expect(counts()).toEqual([18, 91]);
});

it('lets a key whose calls end soon go to every engine, however long they may become', async () => {
  engines = [1, 2].map((number) => anEngine(`engine-${number}`, { room: { calls: 200, tokens: 100_000 } }));
  queue = anEngineQueue({ placer: new Placer() });
  const tokens = { maxOutputTokens: 8_000 };
  const open: Asked[] = [];
  for (let sent = 0; sent < 400; sent += 1) {
    open.push(ask('key', 'key', tokens));
    await jest.advanceTimersByTimeAsync(100);
    if (open.length > 16) (await open.shift()?.placed())?.end(DROPPED);
  }
  askFor('key', 8, tokens);
  await settle();
  for (const { load } of engines) expect(load.calls).toBeGreaterThan(9);
});

it('tries what more an engine carries for a key whose calls are short, and not for one that fills it with streams', async () => {
  const report = async (): Promise<void> => {
    engines[0]?.takeReport(aReport({ running: 6, waiting: 0 }));
    await jest.advanceTimersByTimeAsync(2_000);
  };
  useEight();
  queue = anEngineQueue({
    limits: {
      maxCalls: 200,
      maxBytes: 1_048_576,
      keyShare: 1,
      engineKeyShare: 0.75,
      timeoutMs: 1_000_000,
      expectedWaitMs: 1_000_000,
    },
  });
  const calls = askFor('key', 100);
  for (let rounds = 0; rounds < 20; rounds += 1) await report();
  expect(turns).toHaveLength(6);
  // A call every second from now on.
  for (let ended = 0; ended < 40; ended += 1) {
    (await calls[ended]?.placed())?.end(DROPPED);
    if (ended % 2 === 1) await report();
  }
  expect(turns.length - 40).toBeGreaterThan(6);
});

/** Streams of one key that nobody reads any more; those that were cut end. */
async function leaveUnread(asked: Asked[], cut: string[], name: string): Promise<void> {
  for (const [index, one] of asked.entries()) {
    const placed = await one.placed();
    placed.exchange = {
      leftOut() {},
      cutUnread() {
        cut.push(`${name} ${index + 1}`);
        placed.end(DROPPED);
      },
    };
    placed.unread();
  }
}

it('cuts the stream that was unread longest, of the key with most of them, for a call of another key that waits', async () => {
  const hits: string[] = [];
  const keyBoundHit = (bound: string, keyId: string) => void hits.push(`${bound} ${keyId}`);
  useEight();
  queue = anEngineQueue({ metrics: { ...noMetrics, keyBoundHit } });
  const cut: string[] = [];
  await leaveUnread([ask('slow'), ask('slow')], cut, 'slow');
  await leaveUnread(askFor('flood', 5), cut, 'flood');
  await ask('reading').placed();
  await jest.advanceTimersByTimeAsync(10_000);
  // No call waits.
  expect(cut).toEqual([]);
  const others = [ask('other'), ask('other')];
  await jest.advanceTimersByTimeAsync(1_200);
  expect(cut).toEqual(['flood 1', 'flood 2']);
  await Promise.all(others.map((other) => other.placed()));
  expect(hits).toEqual(['streams flood', 'streams flood']);
  await jest.advanceTimersByTimeAsync(10_000);
  expect(cut).toHaveLength(2);
});

it('cuts no stream that is read, that was read again within 5 s, or whose own key alone waits', async () => {
  useEight();
  const cut: string[] = [];
  const flood = askFor('flood', 6);
  await leaveUnread(flood, cut, 'flood');
  const others = [ask('other'), ask('third')];
  await Promise.all(others.map((other) => other.placed()));
  ask('flood');
  await jest.advanceTimersByTimeAsync(15_000);
  expect(cut).toEqual([]);
  for (const one of flood) (await one.placed()).read();
  ask('fourth');
  await jest.advanceTimersByTimeAsync(4_000);
  await leaveUnread(flood.slice(0, 1), cut, 'flood');
  await jest.advanceTimersByTimeAsync(4_800);
  expect(cut).toEqual([]);
  await jest.advanceTimersByTimeAsync(400);
  expect(cut).toEqual(['flood 1']);
});
