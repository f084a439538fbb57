import type { TokenId } from '../tokenizer/tokenizer.ts';

/** Tokens by position. Random text is generated on demand. */
export interface TokenSource {
  length: number;
  at(index: number): TokenId;
}

/** A stretch of output that reaches the client in one field. */
export type Segment =
  | { kind: 'reasoning' | 'content'; tokens: TokenSource }
  | { kind: 'tool_name'; toolIndex: number; toolCallId: string; name: string; tokens: TokenSource }
  | { kind: 'tool_arguments'; toolIndex: number; tokens: TokenSource };

/** The output that an engine generates if nothing cuts it short. The stop token comes after the last segment. */
export interface OutputPlan {
  segments: Segment[];
  /** Finish reason when the stop token is reached. */
  finishReason: 'stop' | 'tool_calls';
  /** A prompt that is only computed, as for an embedding: not even a stop token comes. */
  isPooled?: boolean;
}

/** Tokens that are known beforehand, as a source. */
export const fixedTokens = (ids: readonly TokenId[]): TokenSource => ({
  length: ids.length,
  at: (index) => ids[index] ?? 0,
});
