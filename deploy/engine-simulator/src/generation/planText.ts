import { encode } from '../tokenizer/tokenizer.ts';
import type { SamplingRequest } from '../wire/samplingFields.ts';
import { draw, type RandomKey } from './counterRandom.ts';
import type { Directives } from './directives.ts';
import type { TokenSource } from './outputPlan.ts';
import { randomTextToken } from './randomText.ts';

/** Answers that nothing steers have this many tokens and up to `SPREAD_TOKENS` more. */
const SHORTEST_TOKENS = 24;
const SPREAD_TOKENS = 72;
const LENGTH_COUNTER = 0x7fff_ffff;

export interface TextOptions {
  directives: Directives;
  /** Decides everything left open. */
  key: RandomKey;
  /** What the whole answer may have at most. */
  maxTokens: number;
  /** Tokens of the answer that come before this text. */
  before: number;
  /** The text, where it is given and not made up. */
  text: string | undefined;
}

/** The text of an answer: what is given, or random words, filled up with those to the length that is demanded. */
export function planText(request: SamplingRequest, options: TextOptions): TokenSource {
  const { directives, key, maxTokens, before, text } = options;
  const given = encode(text ?? '');
  const wanted = directives.tokens ?? SHORTEST_TOKENS + (draw(key, LENGTH_COUNTER) % SPREAD_TOKENS);
  // One token of what is wanted is the stop token; it comes after `min_tokens` others, and with `ignore_eos` never.
  const natural = text === undefined ? wanted - 1 - before : given.length;
  const least = (request.ignore_eos ? maxTokens : (request.min_tokens ?? 0)) - before;
  return { length: Math.max(natural, least, 0), at: (index) => given[index] ?? randomTextToken(key, index) };
}
