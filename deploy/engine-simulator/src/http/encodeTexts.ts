import type { z } from 'zod';
import { decode, encode, type TokenId } from '../tokenizer/tokenizer.ts';
import type { textsSchema } from '../wire/completionRequest.ts';

/** A text of a request with its tokens. */
export interface EncodedText {
  text: string;
  tokens: readonly TokenId[];
}

/** The texts of a request, whichever of the four ways it gives them: text or token ids, one or a list. */
export function encodeTexts(given: z.output<typeof textsSchema>): EncodedText[] {
  if (typeof given === 'string') return [encoded(given)];
  if (given.every((item) => typeof item === 'number')) return [{ text: decode(given), tokens: given }];
  return given.map((item) => {
    if (typeof item === 'string') return encoded(item);
    const tokens = typeof item === 'number' ? [item] : item;
    return { text: decode(tokens), tokens };
  });
}

const encoded = (text: string): EncodedText => ({ text, tokens: encode(text) });
