import { crc32 } from 'node:zlib';

/** Bytes of a block at the beginning of a prompt: about 128 tokens, eight blocks of an engine. */
const FINE_BYTES = 512;
const FINE_BLOCKS = 32;
/** Bytes of a block further on, where a few hundred tokens no longer tell engines apart: a long prompt stays cheap. */
const COARSE_BYTES = 2_048;
const MAX_BLOCKS = 512;
const FINE_END = FINE_BLOCKS * FINE_BYTES;

/** Where the first `blocks` blocks of a prompt end, in bytes. */
export const endOfBlocks = (blocks: number): number =>
  blocks <= FINE_BLOCKS ? blocks * FINE_BYTES : FINE_END + (blocks - FINE_BLOCKS) * COARSE_BYTES;

/** How many whole blocks lie within the first `bytes` bytes. */
export const blocksWithin = (bytes: number): number =>
  bytes <= FINE_END ? Math.floor(bytes / FINE_BYTES) : FINE_BLOCKS + Math.floor((bytes - FINE_END) / COARSE_BYTES);

/** What is hashed of a prompt; no more of it need be rendered. */
export const MAX_HASHED_BYTES = endOfBlocks(MAX_BLOCKS);

/**
 * A prompt as chained block hashes, each naming the whole prefix up to its end. `scope` is what separates caches: the
 * model and the salt. A collision costs a worse placement and nothing else.
 */
export function hashPrefix(scope: string, prompt: Buffer): number[] {
  const blocks = Math.min(MAX_BLOCKS, blocksWithin(prompt.length));
  const hashes: number[] = [];
  let hash = crc32(scope);
  for (let block = 0; block < blocks; block += 1) {
    hash = crc32(prompt.subarray(endOfBlocks(block), endOfBlocks(block + 1)), hash);
    hashes.push(hash);
  }
  return hashes;
}
