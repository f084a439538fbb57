import { crc32 } from 'node:zlib';
import { MAX_CANDIDATES, type SpanAttributes } from '@turnpike/telemetry/callSpan';
import type { Engine } from '../engines/engine.ts';
import { FIXED_TOKENS } from '../engines/terms/limits.ts';
import { lowerMedian } from '../health/engineHealth.ts';
import { HOME_SPILL_TOKENS, SLOW_FACTOR, SLOW_MS } from './limits.ts';

/** An engine with the figures that a choice compares. */
export interface Candidate {
  readonly id: string;
  /** Relative capacity: 2 serves twice as much as 1. */
  readonly weight: number;
  /** Tokens of work that wait or run on the engine, scaled to an engine of weight 1. */
  readonly loadTokens: number;
  /** Leading tokens of the prompt that the engine has cached. */
  readonly cachedTokens: number;
}

/**
 * Why a call goes to an engine.
 * - `only`: there is no other engine.
 * - `rendezvous`: no engine has any of the prompt cached, and the prompt's hash names this engine.
 * - `match`: it has a part of the prompt cached, and the least work before the first token.
 * - `least_load`: it has the least work before the first token, and nothing of the prompt cached.
 * - `spill`: the engine that the hash names is much busier, so the least busy engine gets the call.
 */
export type ChoiceReason = 'only' | 'rendezvous' | 'match' | 'least_load' | 'spill';

/** The choice of an engine for a call, with every figure that it depends on. */
export interface Decision {
  readonly reason: ChoiceReason;
  readonly chosen: Candidate;
  /** Every engine that was compared. */
  readonly candidates: readonly Candidate[];
  /** The expected number of the prompt's tokens. */
  readonly promptTokens: number;
}

/** The prompt of a call as placement compares it. */
export interface PlacedCall {
  /** Chained hashes of the prompt's leading blocks. */
  readonly prefixHashes: readonly number[];
  /** Rendered bytes of the whole prompt, hashed or not. */
  readonly promptBytes: number;
  /** Tokens that the prompt is expected to have. */
  readonly promptTokens: number;
}

/** The engine of a call, and the engines that get none because they are slow. */
export interface EngineDecision extends Decision {
  readonly engine: Engine;
  readonly slow: ReadonlySet<Engine>;
}

/**
 * Chooses the engine of a call among these. Changes nothing; equal engines and an equal `random` give equal decisions. Returns
 * undefined where there is no engine.
 */
export function decide(
  engines: readonly Engine[],
  { prefixHashes, promptBytes, promptTokens }: PlacedCall,
  random: () => number,
): EngineDecision | undefined {
  // A single engine has no comparison.
  const usualMs = engines.length > 1 ? middleOf(engines, 'firstEvents') : undefined;
  const slow = engines.length > 1 ? findSlow(engines, usualMs) : NONE_SLOW;
  const areAllSlow = slow.size === engines.length;
  const candidates: (Candidate & { engine: Engine })[] = [];
  for (const engine of engines) {
    if (slow.has(engine) && !areAllSlow) continue;
    const { id, weight, load } = engine;
    const lateTokens = usualMs === undefined ? 0 : load.lateTokens(usualMs / weight);
    candidates.push({
      id,
      weight,
      engine,
      loadTokens: (load.loadTokens + lateTokens) / weight,
      cachedTokens: promptTokens * load.cachedShareOf(prefixHashes, promptBytes),
    });
  }
  const choice = chooseEngine(candidates, { leadingHash: prefixHashes[0], tokens: promptTokens }, random);
  if (!choice) return undefined;
  const { chosen, reason } = choice;
  return { engine: chosen.engine, reason, chosen, candidates, promptTokens, slow: areAllSlow ? NONE_SLOW : slow };
}

const NONE_SLOW: ReadonlySet<Engine> = new Set();

/**
 * Finds the engines that are much slower than the others, for example throttled ones. Their latest calls are compared
 * with the long-term pace of all. So neither a peak of work nor one stream that was delayed and came all at once makes
 * an engine look fast. A lighter engine may be slower in proportion.
 */
function findSlow(engines: readonly Engine[], usualFirst = Number.POSITIVE_INFINITY): ReadonlySet<Engine> {
  const usualStream = middleOf(engines, 'streams') ?? Number.POSITIVE_INFINITY;
  const slow = new Set<Engine>();
  for (const engine of engines) {
    const { weight, load } = engine;
    const first = (load.pace.firstEvents.now ?? 0) * weight;
    const isSlowToBegin = first > SLOW_FACTOR * usualFirst && (first - usualFirst) * FIXED_TOKENS > SLOW_MS;
    const isSlowToStream = (load.pace.streams.now ?? 0) * weight > SLOW_FACTOR * usualStream;
    if (isSlowToBegin || isSlowToStream) slow.add(engine);
  }
  return slow;
}

/**
 * Returns the usual milliseconds a token, on an engine of weight 1: the lower median over engines, the faster one of
 * two. Returns undefined until it is known.
 */
function middleOf(engines: readonly Engine[], measure: 'firstEvents' | 'streams'): number | undefined {
  const known: number[] = [];
  for (const { weight, load } of engines) {
    const msPerToken = load.pace[measure].usual;
    if (msPerToken !== undefined) known.push(msPerToken * weight);
  }
  return lowerMedian(known);
}

export interface Prompt {
  /** Hash of the leading block; undefined for a prompt too short to have one. */
  readonly leadingHash: number | undefined;
  readonly tokens: number;
}

export interface Choice<Target> {
  readonly chosen: Target;
  readonly reason: ChoiceReason;
}

/**
 * Score of an engine: tokens of work before the call's first token, scaled to an engine of weight 1. The least is best.
 */
const tokensAhead = ({ loadTokens, cachedTokens, weight }: Candidate, promptTokens: number): number =>
  loadTokens + (promptTokens - cachedTokens) / weight;

/**
 * Chooses the engine of a call; undefined if there is none. An uncached prefix goes to its rendezvous-hash engine,
 * unless that engine is much busier than the least busy one. Any other call goes to the engine with the least work
 * before its first token. That is waiting and running work, and the uncached part of the prompt. `random` (0 to 1)
 * decides between equals, so that routers do not send their short calls to the same engine.
 */
export function chooseEngine<Target extends Candidate>(
  candidates: readonly Target[],
  prompt: Prompt,
  random: () => number,
): Choice<Target> | undefined {
  let idlest: Target | undefined;
  let leastLoad = Number.POSITIVE_INFINITY;
  let best: Target | undefined;
  let leastAhead = Number.POSITIVE_INFINITY;
  let isAnyCached = false;
  for (const candidate of candidates) {
    isAnyCached ||= candidate.cachedTokens > 0;
    const load = candidate.loadTokens + random();
    if (load < leastLoad) {
      leastLoad = load;
      idlest = candidate;
    }
    const ahead = tokensAhead(candidate, prompt.tokens) + random();
    if (ahead < leastAhead) {
      leastAhead = ahead;
      best = candidate;
    }
  }
  if (!idlest || !best) return undefined;
  if (candidates.length === 1) return { chosen: idlest, reason: 'only' };
  if (prompt.leadingHash !== undefined && !isAnyCached) {
    const home = findHome(candidates, prompt.leadingHash);
    return home && home.loadTokens <= idlest.loadTokens + HOME_SPILL_TOKENS
      ? { chosen: home, reason: 'rendezvous' }
      : { chosen: idlest, reason: 'spill' };
  }
  return { chosen: best, reason: best.cachedTokens > 0 ? 'match' : 'least_load' };
}

/**
 * Returns the engine that a weighted rendezvous hash names for a prefix. Routers that see the same engines agree
 * without communication. Each engine is named in proportion to its weight. An engine that leaves or joins moves only
 * its own prefixes.
 */
function findHome<Target extends { id: string; weight: number }>(
  targets: readonly Target[],
  leadingHash: number,
): Target | undefined {
  let home: Target | undefined;
  let highest = Number.NEGATIVE_INFINITY;
  for (const target of targets) {
    // Uniform between 0 and 1, both excluded.
    const uniform = (mix(crc32(target.id) ^ leadingHash) + 0.5) / 0x1_0000_0000;
    const score = -target.weight / Math.log(uniform);
    if (score <= highest) continue;
    highest = score;
    home = target;
  }
  return home;
}

/** Mixes 32 bits (MurmurHash3's finalizer), because a checksum alone is linear and would favor some engines. */
function mix(bits: number): number {
  let mixed = bits;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/**
 * Returns the attributes of a span that explain why a call went to its engine. They name the chosen engine first, then
 * those with the best scores, 16 engines at most. All figures are tokens.
 */
export function toDecisionAttributes({ reason, chosen, candidates, promptTokens }: Decision): SpanAttributes {
  const others = candidates
    .filter((candidate) => candidate !== chosen)
    .sort((a, b) => tokensAhead(a, promptTokens) - tokensAhead(b, promptTokens));
  return {
    'turnpike.placement': reason,
    'turnpike.candidate_count': candidates.length,
    'turnpike.candidates': [chosen, ...others.slice(0, MAX_CANDIDATES - 1)]
      .map((candidate) => toText(candidate, promptTokens))
      .join(', '),
    'turnpike.expected_prompt_tokens': Math.round(promptTokens),
    'turnpike.expected_cached_tokens': Math.round(chosen.cachedTokens),
  };
}

const toText = (candidate: Candidate, promptTokens: number): string => {
  const { id, loadTokens, cachedTokens } = candidate;
  const score = tokensAhead(candidate, promptTokens);
  return `${id} score=${Math.round(score)} load=${Math.round(loadTokens)} cached=${Math.round(cachedTokens)}`;
};
