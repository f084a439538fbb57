import { seededRandom } from '../../../bench/seededRandom.ts';

/** Draws of one simulated run: the same ones for the same seed. */
export interface Random {
  /** Uniform from 0 to 1. */
  share(): number;
  /** Uniform between two bounds; a whole number. */
  between(low: number, high: number): number;
  /** True with this probability. */
  chance(probability: number): boolean;
  pick<T>(choices: readonly T[]): T;
}

export function createRandom(seed: number): Random {
  const share = seededRandom(seed);
  return {
    share,
    between: (low, high) => low + Math.floor(share() * (high - low + 1)),
    chance: (probability) => share() < probability,
    pick<T>(choices: readonly T[]): T {
      const choice = choices[Math.floor(share() * choices.length)];
      if (choice === undefined) throw new Error('nothing to pick from');
      return choice;
    },
  };
}
