import { describe, expect, it } from '@jest/globals';
import { hashPrefix, PrefixIndex } from './prefixIndex.ts';

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
    expect(hashPrefix('s', text('a', 4 * 1_048_576))).toHaveLength(1_024);
  });
});

describe('what an engine has seen', () => {
  const hashes = hashPrefix('s', Buffer.concat(['a', 'b', 'c', 'd'].map((letter) => text(letter, BLOCK))));

  it('is a share of the leading blocks', () => {
    const index = new PrefixIndex();
    expect(index.matchOf(hashes)).toBe(0);
    index.add(hashes.slice(0, 2));
    expect(index.matchOf(hashes)).toBe(0.5);
    index.add(hashes);
    expect(index.matchOf(hashes)).toBe(1);
  });

  it('counts no block behind a gap, which a prefix cache could not use', () => {
    const index = new PrefixIndex();
    index.add(hashes.slice(1));
    expect(index.matchOf(hashes)).toBe(0);
  });

  it('is nothing for a prompt without a block', () => {
    expect(new PrefixIndex().matchOf([])).toBe(0);
  });
});
