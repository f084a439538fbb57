import { ApiError } from '@turnpike/public-api/apiError';
import type { KeyBoundFault } from '../faults/requestFault.ts';

/** Keys that are remembered, the latest ones. */
const MAX_KEYS = 50_000;

export interface KeyAllowanceOptions {
  /** The bound's name in the metric and the fault. */
  bound: KeyBoundFault['bound'];
  /** The most that is left at any time, in the unit that the bound counts: bytes, or milliseconds of processor time. */
  capacity: number;
  /** After so long what was taken is there again. */
  refillMs: number;
  /** The cost of each piece of work beside its amount. */
  least: number;
  nowMs?: () => number;
}

/** Work in vain that each key may cause. */
export interface KeyAllowance {
  /** Throws `key_bound_reached` while the key's is used up. */
  check(keyId: string): void;
  /** Takes an amount, also more than is left. The function gives it back. */
  take(keyId: string, amount: number): () => void;
}

/**
 * Limits the work that one key may cause with refused requests: a bucket for each key, refilled continuously. Refused
 * requests do not count toward the key's limits, so without this bucket a key could cause any amount of it.
 */
export function createKeyAllowance({
  bound,
  capacity,
  refillMs,
  least,
  nowMs = () => performance.now(),
}: KeyAllowanceOptions): KeyAllowance {
  const levels = new Map<string, { left: number; atMs: number }>();
  const levelOf = (keyId: string): number => {
    const level = levels.get(keyId);
    if (!level) return capacity;
    return Math.min(capacity, level.left + ((nowMs() - level.atMs) / refillMs) * capacity);
  };
  const add = (keyId: string, amount: number): void => {
    const left = levelOf(keyId) + amount;
    levels.delete(keyId);
    levels.set(keyId, { left, atMs: nowMs() });
    const [longestAgo] = levels.keys();
    if (levels.size > MAX_KEYS && longestAgo !== undefined) levels.delete(longestAgo);
  };
  let forgetAtMs = nowMs() + refillMs;
  /** Forgets the keys whose allowance is whole again: now and then, as it looks at each. */
  const forgetWhole = (): void => {
    if (nowMs() < forgetAtMs) return;
    forgetAtMs = nowMs() + refillMs;
    for (const keyId of levels.keys()) if (levelOf(keyId) >= capacity) levels.delete(keyId);
  };
  return {
    check(keyId) {
      const level = levelOf(keyId);
      if (level > 0) return;
      const retryAfterSeconds = Math.ceil(((1 - level) / capacity) * (refillMs / 1_000));
      throw new ApiError<KeyBoundFault>({ kind: 'key_bound_reached', bound, retryAfterSeconds, limit: capacity });
    },
    take(keyId, amount) {
      const taken = amount + least;
      forgetWhole();
      add(keyId, -taken);
      return () => add(keyId, taken);
    },
  };
}
