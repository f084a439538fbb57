import { DEFAULT_CACHE_BYTES } from '../terms/limits.ts';
import { endOfBlocks } from './promptPrefix.ts';

interface Block {
  bytes: number;
  /** The number of the call that was sent here last with this block. */
  call: number;
}

/**
 * What we believe one engine still holds in its prefix cache: the prefixes sent there last, as many as it has room for. A
 * block is never older than one behind it in its prompt, so the tail of the oldest prompt is forgotten first, and whatever
 * is here is a whole prefix.
 */
export class PrefixIndex {
  /** Least recently used first. A Map keeps the order of insertion. */
  readonly #blocks = new Map<number, Block>();
  #bytes = 0;
  capacityBytes = DEFAULT_CACHE_BYTES;

  /** How many of the prompt's leading blocks are here. */
  match(hashes: readonly number[]): number {
    let matched = 0;
    let missing = hashes.length + 1;
    while (missing - matched > 1) {
      const middle = (matched + missing) >>> 1;
      if (this.#blocks.has(hashes[middle - 1] ?? 0)) matched = middle;
      else missing = middle;
    }
    return matched;
  }

  /** The calls that last brought each of the prompt's first `count` blocks; 0 for a block that is not here. */
  callsOf(hashes: readonly number[], count: number): number[] {
    return hashes.slice(0, count).map((hash) => this.#blocks.get(hash)?.call ?? 0);
  }

  /** Notes that a call with this prompt was sent there. Calls are numbered from 1 upwards. */
  add(hashes: readonly number[], call: number): void {
    for (let at = hashes.length - 1; at >= 0; at -= 1) {
      const hash = hashes[at] ?? 0;
      const block = this.#blocks.get(hash) ?? { bytes: 0, call };
      const bytes = endOfBlocks(at + 1) - endOfBlocks(at);
      this.#bytes += bytes - block.bytes;
      block.bytes = bytes;
      block.call = call;
      this.#blocks.delete(hash);
      this.#blocks.set(hash, block);
    }
    for (const hash of this.#blocks.keys()) {
      if (this.#bytes <= this.capacityBytes) break;
      this.#remove(hash);
    }
  }

  /** Forgets every block that no call after `call` has brought: the engine dropped one that was used as lately as they. */
  forgetUpTo(call: number): void {
    for (const [hash, block] of this.#blocks) {
      if (block.call > call) break;
      this.#remove(hash);
    }
  }

  /** Forgets everything, as an engine does that was restarted. */
  clear(): void {
    this.#blocks.clear();
    this.#bytes = 0;
  }

  #remove(hash: number): void {
    const block = this.#blocks.get(hash);
    if (!block) return;
    this.#blocks.delete(hash);
    this.#bytes -= block.bytes;
  }
}
