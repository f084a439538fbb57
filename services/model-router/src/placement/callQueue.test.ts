import { beforeEach, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CallQueue, type QueueLimits, type ShedReason, type WaitingCall } from './callQueue.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

const LIMITS: QueueLimits = { maxCalls: 8, maxBytes: 800, keyShare: 0.5, timeoutMs: 20_000, expectedWaitMs: 5_000 };

interface Call extends WaitingCall {
  number: number;
  refusedBy?: ShedReason;
  retryAfterSeconds?: number;
}

let nowMs: number;
/** How many more calls an engine takes. */
let room: number;
/** Keys with as much under way as they may. */
let bound: Set<string>;
let served: Call[];
let queue: CallQueue;
let calls: number;
beforeEach(() => {
  nowMs = 1_000;
  room = 0;
  bound = new Set();
  served = [];
  calls = 0;
  queue = new CallQueue(LIMITS, () => nowMs);
});

function aCall(flow: string, { cost = 10, bytes = 10 } = {}): Call {
  calls += 1;
  const call: Call = {
    number: calls,
    flow,
    cost,
    bytes,
    tryStart() {
      if (bound.has(flow)) return 'held_back';
      if (room === 0) return 'no_room';
      room -= 1;
      served.push(call);
      return 'started';
    },
    turnedAway(reason, retryAfterSeconds) {
      call.refusedBy = reason;
      call.retryAfterSeconds = retryAfterSeconds;
    },
  };
  return call;
}

function join(flow: string, fields?: { cost?: number; bytes?: number }): Call {
  const call = aCall(flow, fields);
  queue.join(call);
  return call;
}

it('gives one key half of the queue and no more, and says so before the call joins', () => {
  for (let count = 0; count < 4; count += 1) expect(join('flood').refusedBy).toBeUndefined();
  expect(queue.findRefusal({ flow: 'flood', bytes: 10 })).toBe('key_share');
  expect(join('flood').refusedBy).toBe('key_share');
  expect(queue.findRefusal({ flow: 'other', bytes: 10 })).toBeUndefined();
  expect(join('other').refusedBy).toBeUndefined();
});

it('counts bytes like calls', () => {
  expect(join('large', { bytes: 700 }).refusedBy).toBeUndefined();
  expect(join('large', { bytes: 10 }).refusedBy).toBe('key_share');
  expect(join('other', { bytes: 90 }).refusedBy).toBeUndefined();
  expect(join('third', { bytes: 701 }).refusedBy).toBe('queue_full');
});

it('makes room in a full queue for a key that has less: the last call of the key with most gives way', () => {
  const first = Array.from({ length: 4 }, () => join('a'));
  const others = ['b', 'b', 'b', 'c'].map((flow) => join(flow));
  expect(queue.length).toBe(8);
  expect(join('d').refusedBy).toBeUndefined();
  expect(first.map(({ refusedBy }) => refusedBy)).toEqual([undefined, undefined, undefined, 'pushed_out']);
  expect(others.every(({ refusedBy }) => refusedBy === undefined)).toBe(true);
  expect(join('b').refusedBy).toBe('queue_full');
});

it('turns a call away whose turn does not come in time, longest wait first', () => {
  const early = join('a');
  nowMs += 900;
  const late = join('a');
  nowMs += 19_099;
  queue.expire();
  expect(early.refusedBy).toBeUndefined();
  nowMs += 1;
  queue.expire();
  expect([early.refusedBy, late.refusedBy, queue.length]).toEqual(['timeout', undefined, 1]);
  expect(early.retryAfterSeconds).toBe(10);
});

it('lets a call wait on that its engine refused: before the others of its key, whatever waits, and no longer than it may', () => {
  const others = Array.from({ length: 4 }, () => join('a'));
  for (let count = 0; count < 4; count += 1) join('b');
  nowMs += 5_000;
  const refused = aCall('a');
  queue.waitOn(refused, nowMs - 10_000);
  expect([queue.length, queue.othersWaitMs('b')]).toEqual([9, 0]);
  room = 1;
  queue.startNext();
  expect(served).toEqual([refused]);
  expect(others.map(({ refusedBy }) => refusedBy)).toEqual([undefined, undefined, undefined, undefined]);
  queue.waitOn(refused, nowMs - 10_000);
  expect(queue.othersWaitMs('b')).toBe(10_000);
  nowMs += 10_000;
  queue.expire();
  expect([refused.refusedBy, others[0]?.refusedBy]).toEqual(['timeout', undefined]);
  const late = aCall('a');
  queue.waitOn(late, nowMs - 20_000);
  expect([late.refusedBy, queue.length]).toEqual(['timeout', 8]);
});

it('turns a call away at once whose turn would come too late, and lets in the key that has nothing waiting', () => {
  const wide = { ...LIMITS, maxCalls: 1_000, maxBytes: 1_000_000 };
  queue = new CallQueue(wide, () => nowMs);
  for (let count = 0; count < 100; count += 1) join('flood');
  // Ten turns a second: 60 calls wait another 6 s.
  for (let turn = 0; turn < 40; turn += 1) {
    nowMs += 100;
    room = 1;
    queue.startNext();
  }
  const refused = join('flood');
  expect(refused.refusedBy).toBe('wait_too_long');
  expect(refused.retryAfterSeconds).toBeGreaterThanOrEqual(5);
  expect(refused.retryAfterSeconds).toBeLessThanOrEqual(7);
  expect(join('other').refusedBy).toBeUndefined();
});

it('lets others pass a key that holds its own calls back, and takes them for no wait of theirs', () => {
  queue = new CallQueue({ ...LIMITS, maxCalls: 1_000, maxBytes: 1_000_000 }, () => nowMs);
  bound.add('flood');
  for (let count = 0; count < 100; count += 1) join('flood');
  queue.startNext();
  expect([queue.isPassedOver('flood'), queue.isBehindOthers('other'), queue.isBehindOthers('flood')]).toEqual([
    true,
    false,
    true,
  ]);
  nowMs += 5_000;
  expect(queue.othersWaitMs('flood')).toBe(0);
  // None of its own calls has had a turn for seconds.
  expect(queue.findRefusal({ flow: 'flood', bytes: 10 })).toBe('wait_too_long');
  const others = ['other', 'third', 'other'].map((flow) => {
    const call = join(flow);
    queue.startNext();
    return call;
  });
  expect(others.map(({ refusedBy }) => refusedBy)).toEqual([undefined, undefined, undefined]);
  expect(queue.isBehindOthers('fourth')).toBe(true);
  nowMs += 700;
  expect([queue.othersWaitMs('flood'), queue.othersWaitMs('other')]).toEqual([700, 700]);
  room = 3;
  queue.startNext();
  expect(served.toSorted((a, b) => a.number - b.number)).toEqual(others);
  expect(queue.othersWaitMs('flood')).toBe(0);
});

it('asks a key that holds its calls back no more until one of them has ended, or all are asked', () => {
  let asked = 0;
  const held = Array.from({ length: 3 }, (_, index) => aCall(`key ${index}`));
  for (const call of held) {
    const { tryStart } = call;
    call.tryStart = () => {
      asked += 1;
      return tryStart();
    };
    bound.add(call.flow);
    queue.join(call);
  }
  for (let turn = 0; turn < 10; turn += 1) queue.startNext();
  expect(asked).toBe(3);
  bound.clear();
  room = 3;
  queue.askAgain('key 1');
  queue.startNext();
  expect([asked, served]).toEqual([4, [held[1]]]);
  queue.askAgain();
  queue.startNext();
  expect([asked, served]).toEqual([6, [held[1], held[0], held[2]]]);
});

it('loses no call, passes no bound, and leaves no room unused while somebody waits', () => {
  const step = fc.oneof(
    fc.record({
      do: fc.constant('join' as const),
      flow: fc.constantFrom('a', 'b', 'c', 'd'),
      bytes: fc.integer({ min: 1, max: 300 }),
    }),
    fc.record({ do: fc.constant('room' as const), room: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ do: fc.constant('leave' as const), which: fc.nat() }),
    fc.record({ do: fc.constant('time' as const), ms: fc.integer({ min: 1, max: 15_000 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      nowMs = 1_000;
      room = 0;
      served = [];
      queue = new CallQueue(LIMITS, () => nowMs);
      const all: Call[] = [];
      const left = new Set<Call>();
      const waiting = () => all.filter((call) => !call.refusedBy && !left.has(call) && !served.includes(call));
      for (const one of steps) {
        if (one.do === 'join') all.push(join(one.flow, { bytes: one.bytes }));
        else if (one.do === 'room') room += one.room;
        else if (one.do === 'time') nowMs += one.ms;
        else {
          const call = waiting()[one.which % Math.max(1, waiting().length)];
          if (call) {
            left.add(call);
            queue.leave(call);
          }
        }
        queue.startNext();
        queue.expire();

        expect(queue.length).toBe(waiting().length);
        expect(room === 0 || queue.length === 0).toBe(true);
        expect(queue.length).toBeLessThanOrEqual(LIMITS.maxCalls);
        const bytes = waiting().reduce((sum, call) => sum + call.bytes, 0);
        expect(bytes <= LIMITS.maxBytes || queue.length === 1).toBe(true);
        for (const [flow, own] of Object.entries(Object.groupBy(waiting(), ({ flow }) => flow)))
          expect([flow, (own?.length ?? 0) <= LIMITS.maxCalls * LIMITS.keyShare]).toEqual([flow, true]);
        for (const own of Object.values(Object.groupBy(served, ({ flow }) => flow)))
          expect(own?.map(({ number }) => number)).toEqual(own?.map(({ number }) => number).toSorted((a, b) => a - b));
      }
      expect(served.some((call) => call.refusedBy || left.has(call))).toBe(false);
    }),
  );
});
