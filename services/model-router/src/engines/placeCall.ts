import { crc32 } from 'node:zlib';
import type { Engine } from './engineRegistry.ts';

/** An engine may be this many tokens busier than the idlest before a new prefix goes elsewhere. */
const SPILL_TOKENS = 8_192;

export interface Placement {
  /** Chained hashes of the prompt's leading blocks. */
  prefixHashes: readonly number[];
  promptTokens: number;
}

/**
 * The engine a call goes to. A prefix nobody has seen goes where a rendezvous hash of its first block says, so that all
 * routers agree without talking, unless that engine is much busier than the others; else the engine with the least work:
 * tokens in flight, and the part of this prompt it would have to read anew. Undefined when no engine is left.
 */
export function placeCall(engines: readonly Engine[], { prefixHashes, promptTokens }: Placement): Engine | undefined {
  const [first, ...others] = engines;
  if (!first || others.length === 0) return first;
  const [firstHash] = prefixHashes;
  const isNew = firstHash !== undefined && engines.every(({ prefixes }) => prefixes.matchOf(prefixHashes) === 0);
  if (isNew) {
    const home = largest(engines, ({ id }) => mix(crc32(id) ^ firstHash));
    const least = Math.min(...engines.map(({ tokensInFlight }) => tokensInFlight));
    if (home.tokensInFlight <= least + SPILL_TOKENS) return home;
  }
  const workOn = ({ tokensInFlight, prefixes }: Engine) =>
    tokensInFlight + promptTokens * (1 - prefixes.matchOf(prefixHashes));
  // Random ties, or all routers would send their short calls to the same engine.
  return largest(engines, (engine) => -workOn(engine) - Math.random());
}

/** Spreads 32 bits over 32 bits (MurmurHash3's finalizer). A checksum alone is linear: some engines would win more often. */
function mix(bits: number): number {
  let mixed = bits;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

function largest(engines: readonly Engine[], scoreOf: (engine: Engine) => number): Engine {
  const [first, ...others] = engines.map((engine) => ({ engine, score: scoreOf(engine) }));
  if (!first) throw new RangeError('no engine to choose from');
  return others.reduce((best, candidate) => (candidate.score > best.score ? candidate : best), first).engine;
}
