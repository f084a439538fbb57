/** Numbers drawn from a seed: the same seed gives the same run. */
export interface Random {
  /** From 0 up to 1. */
  share(): number;
  /** A whole number, both ends included. */
  between(least: number, most: number): number;
}

/** Mulberry32: 32 bits of state, good enough to spread faults and calls. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const share = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { share, between: (least, most) => least + Math.floor(share() * (most - least + 1)) };
}
