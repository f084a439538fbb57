import { findHome } from './findHome.ts';

/** An engine may be this many tokens busier than the idlest before a prefix nobody has seen goes elsewhere than home. */
const HOME_SPILL_TOKENS = 8_192;
/** A cached prefix is worth waiting behind this many tokens and no more: two steps of an engine's usual token budget. */
const CACHE_SPILL_TOKENS = 16_384;

/** One engine as a choice sees it. */
export interface Candidate {
  readonly id: string;
  /** Capacity beside the others': 2 serves twice as much as 1. */
  readonly weight: number;
  /** Tokens of work that wait or run there, as an engine of weight 1 would feel them. */
  readonly loadTokens: number;
  /** Leading tokens of this prompt that it need not compute. */
  readonly cachedTokens: number;
}

export interface Prompt {
  /** Hash of the leading block; undefined for a prompt too short to have one. */
  readonly leadingHash: number | undefined;
  readonly tokens: number;
}

/**
 * Why a call goes to an engine.
 * - `only`: there is no other.
 * - `rendezvous`: no engine has any of the prompt, and its hash names this one.
 * - `match`: it has a part of the prompt, and least work is ahead of the first token there.
 * - `least_load`: least work is ahead there, though nothing of the prompt is cached.
 * - `spill`: where the prompt belongs is so much busier that the idlest gets it.
 */
export type ChoiceReason = 'only' | 'rendezvous' | 'match' | 'least_load' | 'spill';

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
 * part of the prompt that is not cached; but never behind much more than waits at the idlest. Equals are told apart by
 * `random` (0 to 1), or all routers would send their short calls to the same engine. Undefined when no engine is left.
 */
export function chooseEngine<Target extends Candidate>(
  candidates: readonly Target[],
  prompt: Prompt,
  random: () => number,
): Choice<Target> | undefined {
  const idlest = cheapest(candidates, ({ loadTokens }) => loadTokens + random());
  if (!idlest) return undefined;
  if (candidates.length === 1) return { chosen: idlest, reason: 'only' };
  const spillsFrom = (engine: Target, tokens: number) => engine.loadTokens > idlest.loadTokens + tokens;
  if (prompt.leadingHash !== undefined && candidates.every(({ cachedTokens }) => cachedTokens === 0)) {
    const home = findHome(candidates, prompt.leadingHash);
    return home && !spillsFrom(home, HOME_SPILL_TOKENS)
      ? { chosen: home, reason: 'rendezvous' }
      : { chosen: idlest, reason: 'spill' };
  }
  const best = cheapest(candidates, (candidate) => tokensAhead(candidate, prompt.tokens) + random());
  if (!best || spillsFrom(best, CACHE_SPILL_TOKENS)) return { chosen: idlest, reason: 'spill' };
  return { chosen: best, reason: best.cachedTokens > 0 ? 'match' : 'least_load' };
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
