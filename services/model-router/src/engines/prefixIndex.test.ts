import { expect, it } from '@jest/globals';
import { endOfBlocks, hashPrefix, PrefixIndex } from './promptPrefix.ts';

/** Hashes of a prompt of `blocks` blocks, the first `shared` of which all such prompts have. */
const aPrompt = (letter: string, blocks = 4, shared = 0): number[] =>
  hashPrefix(
    'scope',
    Buffer.concat([Buffer.alloc(endOfBlocks(shared), '-'), Buffer.alloc(endOfBlocks(blocks - shared), letter)]),
  );

it('counts the leading blocks that it has seen, and none behind a gap, which a prefix cache could not use', () => {
  const index = new PrefixIndex();
  const hashes = aPrompt('a');
  expect(index.match(hashes)).toBe(0);
  index.add(hashes.slice(0, 2), 1);
  expect(index.match(hashes)).toBe(2);
  index.add(hashes, 2);
  expect(index.match(hashes)).toBe(4);
  expect(index.match(hashes.slice(1))).toBe(3);
  expect(index.match([])).toBe(0);
});

it('forgets the tail of the prompt that was used longest ago when it is full, so that what is left is a prefix', () => {
  const index = new PrefixIndex();
  index.capacityBytes = endOfBlocks(10);
  const [old, newer, newest] = [aPrompt('a'), aPrompt('b'), aPrompt('c')];
  index.add(old, 1);
  index.add(newer, 2);
  index.add(newest, 3);
  expect([old, newer, newest].map((hashes) => index.match(hashes))).toEqual([2, 4, 4]);
});

it('keeps a shared beginning as long as any prompt that has it', () => {
  const index = new PrefixIndex();
  index.capacityBytes = endOfBlocks(6);
  const [first, second] = [aPrompt('a', 4, 2), aPrompt('b', 4, 2)];
  index.add(first, 1);
  index.add(second, 2);
  index.add(aPrompt('c', 2), 3);
  expect([first, second].map((hashes) => index.match(hashes))).toEqual([2, 4]);
});

it('forgets what no call after a given one has brought', () => {
  const index = new PrefixIndex();
  const [old, newer] = [aPrompt('a'), aPrompt('b')];
  index.add(old, 1);
  index.add(newer, 2);
  index.forgetUpTo(1);
  expect([old, newer].map((hashes) => index.match(hashes))).toEqual([0, 4]);
});
