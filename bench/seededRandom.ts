import { deriveKey, draw } from '../deploy/engine-simulator/src/generation/counterRandom.ts';

/** A generator of uniform numbers from 0 to 1 that gives the same ones for the same seed. */
export function seededRandom(seed: number): () => number {
  const key = deriveKey({ low: 0x243f6a88, high: 0x85a308d3 }, [seed]);
  let drawn = 0;
  return () => {
    drawn += 1;
    return draw(key, drawn) / 0x1_0000_0000;
  };
}
