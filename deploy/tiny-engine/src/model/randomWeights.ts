/** Numbers from -1 to 1, equally likely, the same on every machine for the same seed. */
export type RandomSource = () => number;

/** A 32-bit generator (mulberry32): good enough for weights that mean nothing, and the same everywhere. */
export function createRandomSource(seed: number): RandomSource {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 31 - 1;
  };
}

/** `rows` rows of `rowLength` random weights with this standard deviation, row after row. */
export function randomMatrix(
  random: RandomSource,
  { rowLength, rows, deviation }: { rowLength: number; rows: number; deviation: number },
): Float32Array {
  // Values spread equally over -a to a deviate by a / √3.
  const amplitude = deviation * Math.sqrt(3);
  return Float32Array.from({ length: rowLength * rows }, () => random() * amplitude);
}
