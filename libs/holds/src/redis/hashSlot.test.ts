import { describe, expect, it } from '@jest/globals';
import { SLOTS } from './readTopology.ts';
import { hashSlotOf, tagOfSlot } from './shards.ts';

describe('a hash slot', () => {
  it.each([
    ['foo', 12_182],
    ['{foo}:wallet', 12_182],
    ['a{foo}b{bar}', 12_182],
    ['123456789', 0x31c3],
    ['ключ', 10_303],
    ['foo}{bar', 7_624],
    ['foo{}{bar}', 8_363],
    ['a{b{c}d}', 15_725],
  ])('of %s is the one that Redis has it in', (key, slot) => {
    expect(hashSlotOf(key)).toBe(slot);
  });

  it('is not of an empty hash tag', () => {
    expect(hashSlotOf('{}{foo}')).not.toBe(hashSlotOf('foo'));
  });

  it('has a tag, each of them', () => {
    for (let slot = 0; slot < SLOTS; slot += 1) expect(hashSlotOf(`{${tagOfSlot(slot)}}:mark`)).toBe(slot);
  });
});
