import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { ApiError } from '@turnpike/api-errors/apiError';
import { anEngine } from '../../test/anEngine.ts';
import { anEngineQueue } from '../../test/anEngineQueue.ts';
import { aPlacement } from '../../test/aPlacement.ts';
import type { Engine } from '../engines/engine.ts';
import type { PlacedCall } from '../placement/placer.ts';
import type { EngineQueue, Turn } from './engineQueue.ts';

const MODEL = 'small-chat';
/** For so many calls at a time. */
const ROOM = { calls: 2, tokens: 1_000_000 };

let engines: Engine[];
let queue: EngineQueue;
/** Calls in the order of their turns. */
let turns: string[];
beforeEach(() => {
  jest.useFakeTimers();
  engines = [anEngine('engine-1')];
  turns = [];
  queue = anEngineQueue({ room: ROOM });
});
afterEach(() => {
  jest.useRealTimers();
});

interface Asked {
  turn: Promise<Turn<Engine>>;
  placed(): Promise<PlacedCall<Engine>>;
  leave(): void;
}

function ask(keyId: string, name = keyId): Asked {
  const res = Object.assign(new EventEmitter(), { destroyed: false });
  const call = { placement: aPlacement(), keyId, bytes: 100, res };
  const turn = queue.place(call, () => engines);
  void turn.then(({ kind }) => void (kind === 'placed' && turns.push(name)));
  return {
    turn,
    async placed() {
      const got = await turn;
      if (got.kind !== 'placed') throw new Error(`the call was not placed: ${got.kind}`);
      return got.placed;
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

  (await flood[0]?.placed())?.end(undefined);
  (await flood[1]?.placed())?.end(undefined);
  await settle();
  // What waited first goes first; then it is the single one's turn.
  expect(turns.slice(2)).toEqual(['flood 3', 'single']);
  await single.placed();
});

it('takes a waiting client that leaves out at once, and goes on without it', async () => {
  const [first, , third, fourth] = ['1', '2', '3', '4'].map((name) => ask('key', name));
  third?.leave();
  expect(waiting()).toBe(1);
  expect(await third?.turn).toEqual({ kind: 'client_left' });
  (await first?.placed())?.end(undefined);
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
  engines.push(anEngine('engine-2'));
  engines.reverse();
  await jest.advanceTimersByTimeAsync(100);
  expect(turns).toEqual(['1', '2', '3']);
});

it('gives one turn for each call that ends, however often it is said to have', async () => {
  const first = ask('key', '1');
  for (const name of ['2', '3', '4']) ask('key', name);
  const placed = await first.placed();
  placed.end(undefined);
  placed.end(undefined);
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
  const other = { placement: aPlacement({ modelId: 'other' }), keyId: 'key', bytes: 1 };
  const res = Object.assign(new EventEmitter(), { destroyed: false });
  const turn = queue.place({ ...other, res }, () => engines);
  await settle();
  expect([...queue.lengths()]).toContainEqual({ model: 'other', calls: 1 });
  (await first.placed()).end(undefined);
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
  const again = { placement: aPlacement() };
  expect(queue.placeAgain(again, engines)).toMatchObject({ kind: 'placed', placed: { engine: engines[0] } });
  const idle = anEngine('engine-2');
  expect(queue.placeAgain(again, [...engines, idle])).toMatchObject({ kind: 'placed', placed: { engine: idle } });
  expect(queue.placeAgain(again, [])).toEqual({ kind: 'refused', fault: { kind: 'no_healthy_engine' } });
});

it('leaves a call alone whose end gave a turn to one that goes wrong', async () => {
  const first = ask('key', '1');
  ask('key', '2');
  const res = Object.assign(new EventEmitter(), { destroyed: false });
  let lookUps = 0;
  const wrong = queue.place({ placement: aPlacement(), keyId: 'other', bytes: 1, res }, () => {
    lookUps += 1;
    if (lookUps > 1) throw new Error('unforeseen');
    return engines;
  });
  const next = ask('key', '3');
  const placed = await first.placed();
  expect(() => placed.end(undefined)).not.toThrow();
  await expect(wrong).rejects.toThrow('unforeseen');
  await next.placed();
});
