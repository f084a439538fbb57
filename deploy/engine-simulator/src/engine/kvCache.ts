import { BLOCK_TOKENS, blocksFor, hashBlocks, PrefixCache } from './prefixCache.ts';
import type { Sequence } from './sequence.ts';

/**
 * The key-value cache of an engine: a pool of blocks that running sequences hold, and in what is left of it the prefixes
 * of earlier ones. Blocks that two running sequences share are counted for each.
 */
export class KvCache {
  readonly #numBlocks: number;
  readonly #prefixes = new PrefixCache();
  #heldBlocks = 0;

  constructor(numBlocks: number) {
    this.#numBlocks = numBlocks;
  }

  /** Part of the pool that is held, 0 to 1. */
  get usage(): number {
    return this.#heldBlocks / this.#numBlocks;
  }

  get isOverfull(): boolean {
    return this.#heldBlocks > this.#numBlocks;
  }

  /** Whether a sequence that holds nothing could go on with one more token. */
  hasRoomFor(sequence: Sequence): boolean {
    return this.#heldBlocks + this.#blocksOf(sequence) <= this.#numBlocks;
  }

  /** Makes a sequence hold what its prompt, its output and the next token need. */
  hold(sequence: Sequence): void {
    const blocks = this.#blocksOf(sequence);
    this.#heldBlocks += blocks - sequence.schedule.heldBlocks;
    sequence.schedule.heldBlocks = blocks;
  }

  release(sequence: Sequence): void {
    this.#heldBlocks -= sequence.schedule.heldBlocks;
    sequence.schedule.heldBlocks = 0;
  }

  /** How many leading prompt tokens are here. At least one is always computed, so never the whole prompt. */
  findPrefix({ options, schedule }: Sequence): number {
    schedule.promptBlocks = hashBlocks(options.promptTokens, options.cacheSalt);
    const reusable = Math.floor((options.promptTokens.length - 1) / BLOCK_TOKENS);
    return this.#prefixes.match(schedule.promptBlocks, reusable) * BLOCK_TOKENS;
  }

  /** How many leading tokens of a prompt are here, given its block hashes; for whoever only wants to know. */
  peekPrefix(promptBlocks: readonly number[], promptTokens: number): number {
    return this.#prefixes.peek(promptBlocks, Math.floor((promptTokens - 1) / BLOCK_TOKENS)) * BLOCK_TOKENS;
  }

  /** Forgets every prefix. */
  clear(): void {
    this.#prefixes.clear();
  }

  /** Keeps the prompt for others, once it is computed. */
  keepPrompt({ schedule }: Sequence): void {
    this.#prefixes.add(schedule.promptBlocks, this.#numBlocks - this.#heldBlocks);
  }

  /** Keeps prompt and output for the next turn; the last token was never fed back, so it is not there. */
  keepOutput({ options, generated }: Sequence): void {
    if (generated.length < BLOCK_TOKENS) return;
    const computed = [...options.promptTokens, ...generated.slice(0, -1)];
    this.#prefixes.add(hashBlocks(computed, options.cacheSalt), this.#numBlocks - this.#heldBlocks);
  }

  /** At most all there are: the many texts of an embedding are computed one after the other. */
  #blocksOf({ options, generated }: Sequence): number {
    return Math.min(this.#numBlocks, blocksFor(options.promptTokens.length + generated.length + 1));
  }
}
