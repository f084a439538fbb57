import { randomInt } from 'node:crypto';

/** Engines take seeds below this. */
const SEEDS = 2 ** 31;

/** The seed of one render. Some engines begin each request with the same one: what is asked for twice would be made twice alike. */
export const drawSeed = (): number => randomInt(SEEDS);
