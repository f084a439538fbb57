import { wordToken } from '../../deploy/engine-simulator/src/tokenizer/tokenizer.ts';
import { words } from '../../deploy/engine-simulator/src/tokenizer/vocabulary.ts';
import type { Call } from '../routing/workload.ts';
import { seededRandom } from '../seededRandom.ts';

const PROMPT_TOKENS: Range = [100, 1_500];
const ANSWER_TOKENS: Range = [20, 200];
/** Keys that never send more than their share. */
const LIGHT_KEYS = 19;

type Range = [least: number, most: number];

/** Calls a second of the key that floods, and of all others together, from a moment on. */
export interface Phase {
  fromMs: number;
  floodRate: number;
  lightRate: number;
}

/** A call and who makes it; `at` is not used. */
export interface Arrival {
  atMs: number;
  keyId: string;
  isFlood: boolean;
  call: Call;
}

/** Calls that come by chance at the rates of each phase. No two prompts have anything in common. */
export function makeArrivals(phases: readonly Phase[], untilMs: number, seed: number): Arrival[] {
  const random = seededRandom(seed);
  const between = ([least, most]: Range): number => least + Math.floor(random() * (most - least + 1));
  const someTokens = (range: Range) =>
    Array.from({ length: between(range) }, () => wordToken(Math.floor(random() * words.length), { spaced: true }));
  const arrivals: Arrival[] = [];
  for (const [index, { fromMs, floodRate, lightRate }] of phases.entries()) {
    const endMs = phases[index + 1]?.fromMs ?? untilMs;
    const rate = floodRate + lightRate;
    const gapMs = (): number => (-Math.log(1 - random()) / rate) * 1_000;
    for (let atMs = fromMs + gapMs(); atMs < endMs; atMs += gapMs()) {
      const isFlood = random() * rate < floodRate;
      const keyId = isFlood ? 'flood' : `light ${Math.floor(random() * LIGHT_KEYS)}`;
      const promptTokens = someTokens(PROMPT_TOKENS);
      const call = {
        at: 0,
        cacheSalt: '',
        promptTokens,
        promptBlocks: [],
        answer: someTokens(ANSWER_TOKENS),
        prefixHashes: [],
        promptBytes: promptTokens.length * 4,
        estimatedPromptTokens: promptTokens.length,
      };
      arrivals.push({ atMs, keyId, isFlood, call });
    }
  }
  return arrivals;
}
