import type { SeedResult } from './runSeed.ts';

/** A violation for people: what it is, how to see it again, and what led to it. */
export const formatViolation = ({ seed, violation, check, trace }: SeedResult): string =>
  [
    `seed ${seed}, check '${check}': ${violation}`,
    `again: npm run simulate -- --seed ${seed}`,
    ...trace.map((line) => `  ${line}`),
  ].join('\n');
