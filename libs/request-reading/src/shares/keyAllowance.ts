import { ApiError } from '@turnpike/public-api/apiError';
import type { KeyBoundFault } from '../faults/keyBoundFault.ts';

export interface KeyAllowanceOptions {
  /** The bound's name in the metric and the fault. */
  bound: KeyBoundFault['bound'];
  capacityBytes: number;
  /** After so long what was taken is there again. */
  refillMs: number;
  /** The least that anything takes, however short it is. */
  leastBytes: number;
  nowMs?: () => number;
}

/** Bytes of work in vain that each key may cause. */
export interface KeyAllowance {
  /** Throws `key_bound_reached` while the key's is used up. */
  check(keyId: string): void;
  /** Takes bytes, also more than are left. The function gives them back. */
  take(keyId: string, bytes: number): () => void;
}

/**
 * A bucket of bytes for each key, refilled continuously, for work that ends in a refusal: that takes nothing of a key's
 * limits, so without a bucket of its own one could cause as much of it as it likes.
 */
export function createKeyAllowance({
  bound,
  capacityBytes,
  refillMs,
  leastBytes,
  nowMs = () => performance.now(),
}: KeyAllowanceOptions): KeyAllowance {
  const levels = new Map<string, { bytes: number; atMs: number }>();
  const levelOf = (keyId: string): number => {
    const level = levels.get(keyId);
    if (!level) return capacityBytes;
    return Math.min(capacityBytes, level.bytes + ((nowMs() - level.atMs) / refillMs) * capacityBytes);
  };
  const add = (keyId: string, bytes: number): void => {
    levels.set(keyId, { bytes: levelOf(keyId) + bytes, atMs: nowMs() });
  };
  let forgetAtMs = nowMs() + refillMs;
  /** Forgets the keys whose allowance is whole again: now and then, as it looks at each. */
  const forgetWhole = (): void => {
    if (nowMs() < forgetAtMs) return;
    forgetAtMs = nowMs() + refillMs;
    for (const keyId of levels.keys()) if (levelOf(keyId) >= capacityBytes) levels.delete(keyId);
  };
  return {
    check(keyId) {
      const level = levelOf(keyId);
      if (level > 0) return;
      const retryAfterSeconds = Math.ceil(((1 - level) / capacityBytes) * (refillMs / 1_000));
      throw new ApiError<KeyBoundFault>({ kind: 'key_bound_reached', bound, retryAfterSeconds });
    },
    take(keyId, bytes) {
      const taken = bytes + leastBytes;
      forgetWhole();
      add(keyId, -taken);
      return () => add(keyId, taken);
    },
  };
}
