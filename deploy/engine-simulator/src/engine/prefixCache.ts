import type { TokenId } from '../tokenizer/tokenizer.ts';

/** Tokens of one block of the key-value cache; only full blocks are shared. */
export const BLOCK_TOKENS = 16;

export const blocksFor = (tokens: number): number => Math.ceil(tokens / BLOCK_TOKENS);

/** Returns the tokens that fill whole blocks, because a prompt leaves only those in the cache. */
export const wholeBlocksOf = (tokens: number): number => Math.floor(tokens / BLOCK_TOKENS) * BLOCK_TOKENS;

/**
 * Returns one hash for every full block of `tokens`, chained to the block before; the first is chained to `salt`. Equal
 * hashes mean equal salt and equal tokens up to the end of the block.
 */
export function hashBlocks(tokens: readonly TokenId[], salt: string): number[] {
  let low = 0x811c9dc5;
  let high = 0x01000193;
  const mixIn = (value: number) => {
    low = Math.imul(low ^ value, 0x9e3779b1);
    low ^= low >>> 15;
    high = Math.imul(high ^ value, 0x85ebca77);
    high ^= high >>> 13;
  };
  for (let at = 0; at < salt.length; at += 1) mixIn(salt.charCodeAt(at));
  const hashes: number[] = [];
  const fullBlocks = Math.floor(tokens.length / BLOCK_TOKENS);
  for (let at = 0; at < fullBlocks * BLOCK_TOKENS; at += 1) {
    mixIn(tokens[at] ?? 0);
    if (at % BLOCK_TOKENS === BLOCK_TOKENS - 1) hashes.push((high >>> 0) * 0x20_0000 + (low >>> 11));
  }
  return hashes;
}

/** The blocks an engine could reuse, least recently used first. A Map keeps the order of insertion. */
export class PrefixCache {
  readonly #blocks = new Map<number, true>();

  /** Returns how many leading blocks are cached, at most `limit`. They become the most recently used ones. */
  match(hashes: readonly number[], limit: number): number {
    let found = 0;
    while (found < Math.min(limit, hashes.length) && this.#touch(hashes[found] ?? 0)) found += 1;
    return found;
  }

  /** Returns the same number as `match`, and changes nothing. */
  peek(hashes: readonly number[], limit: number): number {
    let found = 0;
    while (found < Math.min(limit, hashes.length) && this.#blocks.has(hashes[found] ?? 0)) found += 1;
    return found;
  }

  /** Adds blocks and forgets the least recently used ones above `capacity`. */
  add(hashes: readonly number[], capacity: number): void {
    for (const hash of hashes) {
      this.#blocks.delete(hash);
      this.#blocks.set(hash, true);
    }
    for (const oldest of this.#blocks.keys()) {
      if (this.#blocks.size <= capacity) break;
      this.#blocks.delete(oldest);
    }
  }

  clear(): void {
    this.#blocks.clear();
  }

  #touch(hash: number): boolean {
    if (!this.#blocks.delete(hash)) return false;
    this.#blocks.set(hash, true);
    return true;
  }
}
