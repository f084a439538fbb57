import { FIRST_OUTPUT_TOKENS, LEARNING_RATE } from '../terms/limits.ts';

/** What calls of one model come to, learned from the engines' own counts: the router has no tokenizer. */
export class ModelHabits {
  #outputTokens = FIRST_OUTPUT_TOKENS;
  /** Tokens that an engine counts for one that we estimated. */
  #tokensPerEstimate = 1;

  promptTokensOf(estimatedTokens: number): number {
    return estimatedTokens * this.#tokensPerEstimate;
  }

  /** What a call will produce, which is far less than it may in most cases. */
  outputTokensOf(maxOutputTokens: number): number {
    return Math.min(this.#outputTokens, maxOutputTokens);
  }

  learn(counted: { promptTokens: number; completionTokens: number }, estimatedPromptTokens: number): void {
    this.#outputTokens += LEARNING_RATE * (counted.completionTokens - this.#outputTokens);
    if (estimatedPromptTokens === 0) return;
    const ratio = counted.promptTokens / estimatedPromptTokens;
    this.#tokensPerEstimate += LEARNING_RATE * (ratio - this.#tokensPerEstimate);
  }
}
