import { expect, it } from '@jest/globals';
import { createKeyAllowance } from './keyAllowance.ts';

const MIB = 1_048_576;

function open() {
  const clock = { nowMs: 0 };
  const { check, take } = createKeyAllowance({
    bound: 'prompt_counts',
    capacity: 8 * MIB,
    refillMs: 60_000,
    least: 4_096,
    nowMs: () => clock.nowMs,
  });
  /** Takes for as long as it may. */
  const takeAll = (keyId: string, bytes: number): number => {
    for (let taken = 0; ; taken += 1) {
      try {
        check(keyId);
        take(keyId, bytes);
      } catch (error) {
        expect(error).toMatchObject({ fault: { kind: 'key_bound_reached', bound: 'prompt_counts' } });
        return taken;
      }
    }
  };
  return { clock, check, take, takeAll };
}

it('allows a key a few large pieces of work, or many small ones, and other keys theirs beside it', () => {
  const { takeAll } = open();
  expect(takeAll('key_1', 3 * MIB)).toBe(3);
  expect(takeAll('key_2', 100)).toBeGreaterThan(1_000);
});

it('says when there will be more', () => {
  const { clock, check, take } = open();
  take('key_1', 20 * MIB);
  let retryAfterSeconds = 0;
  try {
    check('key_1');
  } catch (error) {
    retryAfterSeconds = (error as { fault: { retryAfterSeconds: number } }).fault.retryAfterSeconds;
  }
  expect(retryAfterSeconds).toBeGreaterThan(60);
  clock.nowMs = (retryAfterSeconds - 2) * 1_000;
  expect(() => check('key_1')).toThrow();
  clock.nowMs = retryAfterSeconds * 1_000;
  expect(() => check('key_1')).not.toThrow();
});

it('takes nothing for what was given back', () => {
  const { take, takeAll } = open();
  for (let call = 0; call < 50; call += 1) take('key_1', 3 * MIB)();
  expect(takeAll('key_1', 3 * MIB)).toBe(3);
});

it('remembers the 50,000 keys that took something last', () => {
  const { check, take } = open();
  for (const keyId of ['key_1', 'key_2']) take(keyId, 40 * MIB);
  for (let other = 0; other < 49_999; other += 1) take(`key_other_${other}`, 1);
  expect(() => check('key_1')).not.toThrow();
  expect(() => check('key_2')).toThrow();
});

it('forgets a key only when it has nothing to make up for', () => {
  const { clock, take, takeAll } = open();
  take('key_1', 40 * MIB);
  take('key_2', 1);
  clock.nowMs = 60_000;
  take('key_3', 1);
  expect([takeAll('key_1', 1), takeAll('key_2', 3 * MIB)]).toEqual([0, 3]);
  clock.nowMs = 10 * 60_000;
  expect(takeAll('key_1', 3 * MIB)).toBe(3);
});
