import { beforeEach, expect, it } from '@jest/globals';
import { EngineLoad } from './engineLoad.ts';
import { EngineRoom } from './engineRoom.ts';

const LIMITS = { calls: 100, tokens: 10_000 };

let nowMs: number;
let load: EngineLoad;
let room: EngineRoom;
/** An engine without calls. */
function begin(limits = LIMITS): void {
  load = new EngineLoad(() => nowMs);
  room = new EngineRoom(limits, { load, nowMs: () => nowMs });
}
beforeEach(() => {
  nowMs = 0;
  begin();
});

/** Puts a call there. */
function take({ promptTokens = 0, outputTokens = 0, isStream = true }) {
  const call = load.open({
    keyId: 'key',
    hashes: [],
    promptBytes: 0,
    uncachedTokens: promptTokens,
    outputTokens,
    maxOutputTokens: outputTokens,
    isStream,
  });
  const at = load;
  return { begin: () => at.firstEvent(call), end: () => at.end(call, { kind: 'left_midway' }) };
}

/** Puts calls there as long as there is room; gives what ends each. */
function fill(tokens: number): (() => void)[] {
  const calls: (() => void)[] = [];
  while (room.hasRoomFor(tokens)) calls.push(take({ outputTokens: tokens }).end);
  return calls;
}

/** The engine says of itself what it would after two seconds more. */
function report(running: number, waiting: number, cacheTokens?: number): void {
  nowMs += 2_000;
  room.take({ atMs: nowMs, running, waiting, cacheTokens });
}

it('has as many tokens under way as the cache of the engine holds, or as the setting says', () => {
  expect(fill(1_000)).toHaveLength(10);
  begin();
  room.take({ atMs: nowMs, cacheTokens: 3_000 });
  expect(fill(1_000)).toHaveLength(3);
});

it('has no more calls under way than the setting says, however short they are', () => {
  expect(fill(1)).toHaveLength(100);
});

it('sends a call that is larger than all there is to an engine that has nothing else', () => {
  const [end] = fill(50_000);
  expect(room.hasRoomFor(1)).toBe(false);
  end?.();
  expect(room.hasRoomFor(50_000)).toBe(true);
});

it('learns from a queue that does not empty how many calls run at once, and lets as many wait as begin in a second', () => {
  const calls = fill(10);
  report(16, 84);
  // Ten calls a second begin there.
  for (const end of calls.splice(0, 20)) end();
  expect(room.hasRoomFor(10)).toBe(true);
  calls.push(...fill(10));
  report(16, 84);
  for (const end of calls.splice(0)) end();
  expect(fill(10)).toHaveLength(16 + 10);
});

it('tries more when the limit was felt and nothing waited, and only then', () => {
  const calls = fill(10);
  report(16, 84);
  report(16, 84);
  for (const end of calls.splice(0)) end();
  // One may always wait.
  expect(fill(10)).toHaveLength(17);
  report(17, 0);
  expect(fill(10)).toHaveLength(4);
  report(21, 0);
  report(21, 0);
  report(21, 0);
  // Felt before the first of them alone: a quarter more once.
  expect(fill(10)).toHaveLength(5);
});

it('carries more tokens than the cache holds where prompts are shared', () => {
  expect(fill(1_000)).toHaveLength(10);
  report(10, 0);
  expect(fill(1_000).length).toBeGreaterThan(0);
});

/** The engine took a call, so that it is not taken for full any more. */
function reopen(): void {
  nowMs += 8_000;
  room.sayBegun();
}

it('gives an engine less that says it is full, though never next to nothing', () => {
  const calls = fill(10);
  room.sayBusy();
  reopen();
  for (const end of calls.splice(0)) end();
  expect(fill(10)).toHaveLength(80);
  begin();
  const ends = fill(10);
  for (let times = 0; times < 50; times += 1) {
    room.sayBusy();
    for (const end of ends.splice(4)) end();
  }
  reopen();
  for (const end of ends) end();
  expect(fill(10)).toHaveLength(4);
});

it('is closed for 250 ms to an engine that says it is full, twice as long each time, 8 s at most, and 250 ms again once it began to answer', () => {
  const closedMs = (): number => {
    room.sayBusy();
    room.sayBusy();
    const sinceMs = nowMs;
    while (!room.hasRoomFor(1)) nowMs += 10;
    return nowMs - sinceMs;
  };
  expect(Array.from({ length: 7 }, closedMs)).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 8_000]);
  room.sayBegun();
  expect(closedMs()).toBe(250);
});

it('sends an engine that said it is full one call at a time until it begins to answer one', () => {
  room.sayBusy();
  nowMs += 250;
  const stream = take({ promptTokens: 10 });
  expect(room.hasRoomFor(1)).toBe(false);
  stream.end();
  expect(room.hasRoomFor(1)).toBe(true);
  take({ promptTokens: 10 }).begin();
  room.sayBegun();
  expect(fill(1).length).toBeGreaterThan(1);
});

it('is not given much more of prompts to compute than a step takes, and more when they are computed', () => {
  begin({ ...LIMITS, tokens: 1_000_000 });
  const prompt = { promptTokens: 3_000, outputTokens: 10 };
  const streams = [0, 1, 2].map(() => {
    expect(room.hasRoomFor(3_010)).toBe(true);
    return take(prompt);
  });
  expect(room.hasRoomFor(10)).toBe(false);
  streams[0]?.begin();
  expect(room.hasRoomFor(10)).toBe(true);
  // A whole answer does not say so.
  take({ ...prompt, isStream: false });
  expect(room.hasRoomFor(10)).toBe(false);
  nowMs += 1_000;
  expect(room.hasRoomFor(10)).toBe(true);
});

it('tries more, up to the setting, on an engine that says nothing of its queue', () => {
  const calls = fill(10);
  room.sayBusy();
  reopen();
  for (const end of calls.splice(0)) end();
  let most = 0;
  for (let round = 0; round < 5; round += 1) {
    const held = fill(10);
    most = held.length;
    for (const end of held) end();
    nowMs += 2_100;
    room.take({ atMs: nowMs });
  }
  expect(most).toBe(100);
});
