import { describe, expect, it } from '@jest/globals';
import { blocksWithin, endOfBlocks, hashPrefix, MAX_HASHED_BYTES } from './promptPrefix.ts';

const BLOCK = 512;
const text = (letter: string, bytes: number): Buffer => Buffer.alloc(bytes, letter);

describe('hashes of a prompt', () => {
  it('name whole blocks only', () => {
    expect(hashPrefix('s', text('a', BLOCK - 1))).toHaveLength(0);
    expect(hashPrefix('s', text('a', BLOCK * 3 + 5))).toHaveLength(3);
  });

  it('agree as far as two prompts do, and not after', () => {
    const first = hashPrefix('s', Buffer.concat([text('a', BLOCK * 2), text('b', BLOCK), text('c', BLOCK)]));
    const second = hashPrefix('s', Buffer.concat([text('a', BLOCK * 2), text('x', BLOCK), text('c', BLOCK)]));
    expect(first.map((hash, index) => hash === second[index])).toEqual([true, true, false, false]);
  });

  it('differ between scopes: nobody’s prefix is another tenant’s', () => {
    expect(hashPrefix('tenant a', text('a', BLOCK))).not.toEqual(hashPrefix('tenant b', text('a', BLOCK)));
  });

  it('are bounded in number', () => {
    expect(hashPrefix('s', text('a', 2 * MAX_HASHED_BYTES))).toHaveLength(blocksWithin(MAX_HASHED_BYTES));
  });
});

it('knows how many blocks lie within the bytes of so many blocks, however long they are', () => {
  for (let blocks = 0; blocks < 300; blocks += 1) {
    expect(blocksWithin(endOfBlocks(blocks))).toBe(blocks);
    expect(blocksWithin(endOfBlocks(blocks + 1) - 1)).toBe(blocks);
  }
});
