import { crc32 } from 'node:zlib';
import { LRUCache } from 'lru-cache';

/** Bytes of prompt to a block: about a hundred tokens. */
const BLOCK_BYTES = 512;
const MAX_BLOCKS_PER_PROMPT = 1_024;
const MAX_BLOCKS_PER_ENGINE = 65_536;

/**
 * A prompt as chained block hashes, each naming the whole prefix up to its end. `scope` is what separates caches: the
 * model and the tenant's salt. A collision costs a worse placement and nothing else.
 */
export function hashPrefix(scope: string, prompt: Buffer): number[] {
  const hashes: number[] = [];
  let hash = crc32(scope);
  for (
    let start = 0;
    start + BLOCK_BYTES <= prompt.length && hashes.length < MAX_BLOCKS_PER_PROMPT;
    start += BLOCK_BYTES
  ) {
    hash = crc32(prompt.subarray(start, start + BLOCK_BYTES), hash);
    hashes.push(hash);
  }
  return hashes;
}

/** What we believe one engine still holds in its prefix cache: the prefixes sent there last. */
export class PrefixIndex {
  readonly #blocks = new LRUCache<number, true>({ max: MAX_BLOCKS_PER_ENGINE });

  /** Share of the prompt's blocks that the engine has seen, 0 to 1. */
  matchOf(hashes: readonly number[]): number {
    if (hashes.length === 0) return 0;
    let matched = 0;
    while (matched < hashes.length && this.#blocks.has(hashes[matched] ?? 0)) matched += 1;
    return matched / hashes.length;
  }

  add(hashes: readonly number[]): void {
    for (const hash of hashes) this.#blocks.set(hash, true);
  }
}
