import type { TokenId } from '../tokenizer/tokenizer.ts';
import { deriveKey, draw, type RandomKey } from './counterRandom.ts';

/**
 * The vector of a text: Gaussian values `dimensions` of them drawn from the key of the model and the text's tokens,
 * normalised to length 1, in float32.
 */
export function embedText(modelKey: RandomKey, tokens: readonly TokenId[], dimensions: number): Float32Array {
  const key = deriveKey(modelKey, tokens);
  const values = Float64Array.from({ length: dimensions }, (_, index) => gaussian(key, index));
  const norm = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
  return Float32Array.from(values, (value) => value / norm);
}

/** Number `index` of a standard normal sequence (Box and Muller). */
function gaussian(key: RandomKey, index: number): number {
  const first = (draw(key, 2 * index) + 1) / (2 ** 32 + 1);
  const second = draw(key, 2 * index + 1) / 2 ** 32;
  return Math.sqrt(-2 * Math.log(first)) * Math.cos(2 * Math.PI * second);
}
