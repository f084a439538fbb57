import { crc32 } from 'node:zlib';
import type { Candidate, ChoiceReason } from '../engines/terms/attempt.ts';
import { HOME_SPILL_TOKENS } from './limits.ts';

export interface Prompt {
  /** Hash of the leading block; undefined for a prompt too short to have one. */
  readonly leadingHash: number | undefined;
  readonly tokens: number;
}

export interface Choice<Target> {
  readonly chosen: Target;
  readonly reason: ChoiceReason;
}

/** Tokens of work ahead of the call's first token there, as an engine of weight 1 would feel them: the score, least is best. */
export const tokensAhead = ({ loadTokens, cachedTokens, weight }: Candidate, promptTokens: number): number =>
  loadTokens + (promptTokens - cachedTokens) / weight;

/**
 * The engine a call goes to. A prefix that none has goes home, where its rendezvous hash says, unless home is much busier
 * than the idlest. Else the call goes where least work is ahead of its first token: what waits and runs there, and the
 * part of the prompt that is not cached. Equals are told apart by `random` (0 to 1), or all routers would send their short calls
 * to the same engine. Undefined when no engine is left.
 */
export function chooseEngine<Target extends Candidate>(
  candidates: readonly Target[],
  prompt: Prompt,
  random: () => number,
): Choice<Target> | undefined {
  const idlest = cheapest(candidates, ({ loadTokens }) => loadTokens + random());
  if (!idlest) return undefined;
  if (candidates.length === 1) return { chosen: idlest, reason: 'only' };
  if (prompt.leadingHash !== undefined && candidates.every(({ cachedTokens }) => cachedTokens === 0)) {
    const home = findHome(candidates, prompt.leadingHash);
    return home && home.loadTokens <= idlest.loadTokens + HOME_SPILL_TOKENS
      ? { chosen: home, reason: 'rendezvous' }
      : { chosen: idlest, reason: 'spill' };
  }
  const best = cheapest(candidates, (candidate) => tokensAhead(candidate, prompt.tokens) + random());
  return best && { chosen: best, reason: best.cachedTokens > 0 ? 'match' : 'least_load' };
}

function cheapest<Target>(candidates: readonly Target[], costOf: (candidate: Target) => number): Target | undefined {
  let best: Target | undefined;
  let lowest = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const cost = costOf(candidate);
    if (cost >= lowest) continue;
    lowest = cost;
    best = candidate;
  }
  return best;
}

/**
 * The engine that a weighted rendezvous hash names for a prefix: all routers that see the same engines agree without
 * talking, each engine is named in proportion to its weight, and one that leaves or joins moves only its own prefixes.
 */
function findHome<Target extends { id: string; weight: number }>(
  targets: readonly Target[],
  leadingHash: number,
): Target | undefined {
  let home: Target | undefined;
  let highest = Number.NEGATIVE_INFINITY;
  for (const target of targets) {
    // Uniform between 0 and 1, both left out.
    const uniform = (mix(crc32(target.id) ^ leadingHash) + 0.5) / 0x1_0000_0000;
    const score = -target.weight / Math.log(uniform);
    if (score <= highest) continue;
    highest = score;
    home = target;
  }
  return home;
}

/** Spreads 32 bits over 32 bits (MurmurHash3's finalizer). A checksum alone is linear: some engines would win more often. */
function mix(bits: number): number {
  let mixed = bits;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
