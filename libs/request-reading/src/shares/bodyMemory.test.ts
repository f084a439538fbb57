import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createBodyMemory, type TakenBytes } from './bodyMemory.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

const KIB = 1_024;

it('is shared by all calls, and a call gives back what it took', () => {
  const memory = createBodyMemory(160);
  const [first, second] = [memory.open('a'), memory.open('b')];
  expect(first.take(60)).toBe(true);
  expect(second.take(51)).toBe(false);
  expect(second.take(50)).toBe(true);
  expect(first.take(1)).toBe(false);
  first.close();
  first.close();
  expect(second.take(30)).toBe(true);
  expect(second.take(1)).toBe(false);
});

it('gives one key half at most, however many calls it has', () => {
  const memory = createBodyMemory(300);
  const calls = Array.from({ length: 300 }, () => memory.open('a'));
  expect(calls.filter((call) => call.take(1))).toHaveLength(150);
});

it('has half of what is left for somebody new, whatever the others take', () => {
  const aStep = fc.record({ key: fc.nat(7), bytes: fc.integer({ min: 1, max: 40 * KIB }) });
  fc.assert(
    fc.property(fc.array(aStep, { maxLength: 300 }), (steps) => {
      const memory = createBodyMemory(256 * KIB);
      let left = 256 * KIB;
      for (const { key, bytes } of steps) if (memory.open(`key_${key}`).take(bytes)) left -= bytes;
      // Each of eight keys has left half of what it found.
      expect(left).toBeGreaterThanOrEqual(KIB);
      expect(memory.open('new').take(Math.floor(left / 2))).toBe(true);
    }),
    { numRuns: 200 },
  );
});

it('says whether the key or all keys together have too much', () => {
  const memory = createBodyMemory(300);
  const [alone, other] = [memory.open('a'), memory.open('b')];
  alone.take(150);
  expect(alone.take(1)).toBe(false);
  expect(alone.refusal().fault).toMatchObject({ kind: 'key_bound_reached', bound: 'body_memory' });
  expect(other.take(100)).toBe(false);
  expect(other.refusal().fault).toEqual({ kind: 'no_room_for_body' });
});

it('could give a call what it would get if nobody else had any', () => {
  const memory = createBodyMemory(300);
  memory.open('b').take(150);
  const call = memory.open('a');
  call.take(50);
  expect(call.couldTake(100)).toBe(true);
  expect(call.couldTake(101)).toBe(false);
});

describe('an upload', () => {
  function open(limit: number) {
    const clock = { ms: 0 };
    const memory = createBodyMemory(limit, () => clock.ms);
    const ended: string[] = [];
    const upload = (name: string): { call: TakenBytes; end: () => void } => {
      const call = memory.open(name);
      return { call, end: call.beginUpload((error) => ended.push(`${name}: ${error.fault.kind}`)) };
    };
    return { clock, memory, ended, upload };
  }

  it('that stands still gives its bytes to whoever needs them', () => {
    const { clock, ended, upload, memory } = open(300 * KIB);
    const { call } = upload('a');
    call.take(150 * KIB);
    clock.ms = 2_000;
    expect(memory.open('b').take(150 * KIB)).toBe(true);
    expect(ended).toEqual(['a: key_bound_reached']);
    expect(call.take(1)).toBe(false);
    call.close();
    expect(memory.open('c').take(75 * KIB)).toBe(true);
  });

  it('that stands still keeps its bytes from a key that has most of what is taken, as that has not gone short through others', () => {
    const { clock, ended, upload, memory } = open(300 * KIB);
    upload('slow').call.take(20 * KIB);
    memory.open('greedy').take(130 * KIB);
    clock.ms = 2_000;
    expect(memory.open('greedy').take(20 * KIB)).toBe(false);
    expect(ended).toEqual([]);
  });

  it('that stands still gives its bytes to other calls of its own key', () => {
    const { clock, ended, upload, memory } = open(300 * KIB);
    upload('a').call.take(140 * KIB);
    clock.ms = 2_000;
    expect(memory.open('a').take(100 * KIB)).toBe(true);
    expect(ended).toEqual(['a: key_bound_reached']);
  });

  it('that goes on keeps them, and so does one that is whole', () => {
    const { clock, ended, upload, memory } = open(300 * KIB);
    const going = upload('a');
    const whole = upload('b');
    going.call.take(80 * KIB);
    whole.call.take(80 * KIB);
    whole.end();
    clock.ms = 1_000;
    going.call.take(16 * KIB);
    clock.ms = 2_999;
    expect(memory.open('c').take(100 * KIB)).toBe(false);
    expect(ended).toEqual([]);
  });

  it('that sends a byte now and then stands still', () => {
    const { clock, ended, upload, memory } = open(300 * KIB);
    const { call } = upload('a');
    call.take(140 * KIB);
    for (clock.ms = 0; clock.ms < 2_000; clock.ms += 100) call.take(100);
    expect(memory.open('b').take(100 * KIB)).toBe(true);
    expect(ended).toHaveLength(1);
  });

  it('that has stood still for longest goes first, and no more than are in the way', () => {
    const { clock, ended, upload, memory } = open(300 * KIB);
    for (const [index, name] of ['a', 'b', 'c'].entries()) {
      clock.ms = index * 100;
      upload(name).call.take(60 * KIB);
    }
    clock.ms = 5_000;
    expect(memory.open('d').take(90 * KIB)).toBe(true);
    expect(ended).toEqual(['a: key_bound_reached']);
  });
});
