const MOST_TICKS = 5;

/** Lists the values of an axis from 0 to at least `most`, at steps of 1, 2 or 5 times a power of ten. */
export function listTicks(most: bigint): bigint[] {
  const steps = BigInt(MOST_TICKS - 1);
  for (let power = 1n; ; power *= 10n) {
    for (const factor of [1n, 2n, 5n]) {
      const step = factor * power;
      if (step * steps < most) continue;
      const count = most === 0n ? 1 : Number((most + step - 1n) / step);
      return Array.from({ length: count + 1 }, (_, index) => BigInt(index) * step);
    }
  }
}
