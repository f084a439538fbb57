import { endOfBlocks } from './promptPrefix.ts';
import { DEFAULT_CACHE_BYTES } from './terms/limits.ts';

interface Block {
  readonly hash: number;
  bytes: number;
  /** The number of the call that was sent here last with this block. */
  call: number;
  /** Its neighbours by last use, in a ring that one which is no block closes. */
  older: Block;
  newer: Block;
}

/** A block that is the only one of its ring. */
function aBlock(hash: number, call: number): Block {
  const block = { hash, bytes: 0, call } as Block;
  block.older = block;
  block.newer = block;
  return block;
}

/**
 * What we believe one engine still holds in its prefix cache: the prefixes sent there last, as many as it has room for. A
 * block is never older than one behind it in its prompt, so the tail of the oldest prompt is forgotten first, and whatever
 * is here is a whole prefix.
 */
export class PrefixIndex {
  /** By hash, as signed numbers of 32 bits: larger ones are objects to V8. */
  readonly #blocks = new Map<number, Block>();
  /** The newest is older than this, the oldest newer. */
  readonly #end = aBlock(0, 0);
  #bytes = 0;
  capacityBytes = DEFAULT_CACHE_BYTES;

  /** How many of the prompt's leading blocks are here. */
  match(hashes: readonly number[]): number {
    let matched = 0;
    let missing = hashes.length + 1;
    while (missing - matched > 1) {
      const middle = (matched + missing) >>> 1;
      if (this.#blocks.has((hashes[middle - 1] ?? 0) | 0)) matched = middle;
      else missing = middle;
    }
    return matched;
  }

  /** The calls that last brought each of the prompt's first `count` blocks; 0 for a block that is not here. */
  callsOf(hashes: readonly number[], count: number): number[] {
    const calls: number[] = [];
    for (let at = 0; at < count; at += 1) calls.push(this.#blocks.get((hashes[at] ?? 0) | 0)?.call ?? 0);
    return calls;
  }

  /** Notes that a call with this prompt was sent there. Calls are numbered from 1 upwards. */
  add(hashes: readonly number[], call: number): void {
    for (let at = hashes.length - 1; at >= 0; at -= 1) {
      const hash = (hashes[at] ?? 0) | 0;
      let block = this.#blocks.get(hash);
      if (block) unlink(block);
      else {
        block = aBlock(hash, call);
        this.#blocks.set(hash, block);
      }
      const bytes = endOfBlocks(at + 1) - endOfBlocks(at);
      this.#bytes += bytes - block.bytes;
      block.bytes = bytes;
      block.call = call;
      linkBelow(block, this.#end);
    }
    while (this.#bytes > this.capacityBytes && this.#end.newer !== this.#end) this.#remove(this.#end.newer);
  }

  /** Forgets every block that no call after `call` has brought: the engine dropped one that was used as lately as they. */
  forgetUpTo(call: number): void {
    while (this.#end.newer !== this.#end && this.#end.newer.call <= call) this.#remove(this.#end.newer);
  }

  /** Forgets everything, as an engine does that was restarted. */
  clear(): void {
    this.forgetUpTo(Number.POSITIVE_INFINITY);
  }

  #remove(block: Block): void {
    this.#blocks.delete(block.hash);
    this.#bytes -= block.bytes;
    unlink(block);
  }
}

/** Makes a block the next older one of another. */
function linkBelow(block: Block, newer: Block): void {
  block.newer = newer;
  block.older = newer.older;
  newer.older.newer = block;
  newer.older = block;
}

function unlink({ older, newer }: Block): void {
  older.newer = newer;
  newer.older = older;
}
