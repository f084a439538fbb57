import { beforeEach, expect, it } from '@jest/globals';
import { EngineLoad } from './engineLoad.ts';
import { EngineRoom, findKeyBound } from './engineRoom.ts';

const LIMITS = { calls: 200, tokens: 100_000 };

function anEngine(limits = LIMITS) {
  const nowMs = () => 0;
  const load = new EngineLoad(nowMs);
  return { load, room: new EngineRoom(limits, { load, nowMs }) };
}

let engines: ReturnType<typeof anEngine>[];
beforeEach(() => {
  engines = [anEngine(), anEngine()];
});

/** Takes room for a call, where there is most of it; gives what ends the call. */
function take(keyId: string, tokens = 1): (() => void) | undefined {
  const [most] = engines.toSorted((a, b) => b.room.free('calls') - a.room.free('calls'));
  if (!most?.room.hasRoomFor(tokens)) return undefined;
  const prompt = { hashes: [], promptBytes: 0, uncachedTokens: 0 };
  const call = most.load.open({ keyId, ...prompt, outputTokens: tokens, maxOutputTokens: tokens, isStream: true });
  return () => most.load.end(call, { kind: 'left_midway' });
}

/** Lets keys take calls in turn for as long as they may; gives how many each has. */
function fill(keyIds: string[], { share = 0.75, tokens = 1 } = {}): number[] {
  const counts = keyIds.map(() => 0);
  for (let before = -1; before !== sum(counts); ) {
    before = sum(counts);
    for (const [index, keyId] of keyIds.entries())
      if (!findKeyBound(engines, keyId, share) && take(keyId, tokens)) counts[index] = (counts[index] ?? 0) + 1;
  }
  return counts;
}
const sum = (counts: number[]): number => counts.reduce((total, count) => total + count, 0);

it('lets a key that is alone have three quarters of all engines’ calls, and two three sevenths each', () => {
  expect(fill(['a'])).toEqual([300]);
  expect(findKeyBound(engines, 'a', 0.75)).toBe('calls');
  engines = [anEngine(), anEngine()];
  for (const count of fill(['a', 'b'])) expect(Math.abs(count - (400 * 3) / 7)).toBeLessThanOrEqual(2);
});

it('leaves something free for one that comes last, however many there are before it', () => {
  const many = Array.from({ length: 20 }, (_, index) => `key ${index}`);
  fill(many);
  expect(findKeyBound(engines, 'new', 0.75)).toBeUndefined();
  expect(take('new')).toBeDefined();
});

it('counts tokens like calls', () => {
  expect(fill(['a'], { tokens: 1_000 })).toEqual([150]);
  expect(findKeyBound(engines, 'a', 0.75)).toBe('tokens');
});

it('gives a key more when its calls end, and when others’ do', () => {
  const [first] = [take('b'), ...Array.from({ length: 99 }, () => take('b'))];
  fill(['a']);
  expect(findKeyBound(engines, 'a', 0.75)).toBe('calls');
  first?.();
  expect(findKeyBound(engines, 'a', 0.75)).toBeUndefined();
});

it('binds nobody with a share of 1, and nobody who has two calls', () => {
  expect(fill(['a'], { share: 1 })).toEqual([400]);
  engines = [anEngine({ ...LIMITS, calls: 2 })];
  expect(fill(['a'])).toEqual([2]);
});
