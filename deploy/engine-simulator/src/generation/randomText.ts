import { type TokenId, wordToken } from '../tokenizer/tokenizer.ts';
import { words } from '../tokenizer/vocabulary.ts';
import { draw, type RandomKey } from './counterRandom.ts';

const PERIOD: TokenId = 0x2e;
const SENTENCE_TOKENS = 11;

/**
 * Returns token number `index` of the endless text of `key`: words of the vocabulary, a period after every ten.
 * Encoding the text again gives the same tokens.
 */
export function randomTextToken(key: RandomKey, index: number): TokenId {
  if (index % SENTENCE_TOKENS === SENTENCE_TOKENS - 1) return PERIOD;
  return wordToken(draw(key, index) % words.length, { spaced: index > 0 });
}

/** Separators of two words in a string value: mostly a space, often a character that JSON escapes. */
const SEPARATORS = [' ', ' ', ' ', '\n', ' "', '\\', '\t'];

/** `count` words of the same text as a string, for values inside JSON. */
export function randomLines(key: RandomKey, count: number): string {
  return Array.from({ length: count }, (_, index) => {
    const separator = index === 0 ? '' : (SEPARATORS[draw(key, -index) % SEPARATORS.length] ?? ' ');
    return separator + words[draw(key, index) % words.length];
  }).join('');
}
