import { BLOCK_TOKENS, blocksFor, hashBlocks, PrefixCache } from './prefixCache.ts';
import type { Sequence } from './sequence.ts';

/**
 * The key-value cache of an engine: a pool of blocks that running sequences hold. The free part keeps the prefixes of
 * earlier sequences. Blocks that two running sequences share count for each.
 */
export class KvCache {
  readonly #numBlocks: number;
  readonly #prefixes = new PrefixCache();
  #heldBlocks = 0;

  constructor(numBlocks: number) {
    this.#numBlocks = numBlocks;
  }

  /** Held part of the pool, 0 to 1. */
  get usage(): number {
    return this.#heldBlocks / this.#numBlocks;
  }

  get isOverfull(): boolean {
    return this.#heldBlocks > this.#numBlocks;
  }

  /** Returns whether a sequence that holds nothing could continue with one more token. */
  hasRoomFor(sequence: Sequence): boolean {
    return this.#heldBlocks + this.#blocksOf(sequence) <= this.#numBlocks;
  }

  /** Makes a sequence hold blocks for its prompt, its output and the next token. */
  hold(sequence: Sequence): void {
    const blocks = this.#blocksOf(sequence);
    this.#heldBlocks += blocks - sequence.schedule.heldBlocks;
    sequence.schedule.heldBlocks = blocks;
  }

  release(sequence: Sequence): void {
    this.#heldBlocks -= sequence.schedule.heldBlocks;
    sequence.schedule.heldBlocks = 0;
  }

  /**
   * Returns how many leading prompt tokens are cached. At least one token is always computed, so never the whole
   * prompt.
   */
  findPrefix({ options, schedule }: Sequence): number {
    schedule.promptBlocks = hashBlocks(options.promptTokens, options.cacheSalt);
    const reusable = Math.floor((options.promptTokens.length - 1) / BLOCK_TOKENS);
    return this.#prefixes.match(schedule.promptBlocks, reusable) * BLOCK_TOKENS;
  }

  /** Returns how many leading tokens of a prompt are cached, given its block hashes. Changes nothing. */
  peekPrefix(promptBlocks: readonly number[], promptTokens: number): number {
    return this.#prefixes.peek(promptBlocks, Math.floor((promptTokens - 1) / BLOCK_TOKENS)) * BLOCK_TOKENS;
  }

  /** Forgets every prefix. */
  clear(): void {
    this.#prefixes.clear();
  }

  /** Keeps the prompt for other sequences, once it is computed. */
  keepPrompt({ schedule }: Sequence): void {
    this.#prefixes.add(schedule.promptBlocks, this.#numBlocks - this.#heldBlocks);
  }

  /** Keeps prompt and output for the next request. The last token was never computed as input, so it is absent. */
  keepOutput({ options, generated }: Sequence): void {
    if (generated.length < BLOCK_TOKENS) return;
    const computed = [...options.promptTokens, ...generated.slice(0, -1)];
    this.#prefixes.add(hashBlocks(computed, options.cacheSalt), this.#numBlocks - this.#heldBlocks);
  }

  /**
   * Returns the blocks of a sequence, at most the whole pool, because the texts of an embedding are computed one after
   * the other.
   */
  #blocksOf({ options, generated }: Sequence): number {
    return Math.min(this.#numBlocks, blocksFor(options.promptTokens.length + generated.length + 1));
  }
}
