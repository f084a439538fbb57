import { ApiError } from '@turnpike/api-errors/apiError';
import type { KeyBoundFault } from '../wire/chatFault.ts';

/** Two of the longest prompts there are at once, and as much again every minute. */
const CAPACITY_BYTES = 8 * 1_048_576;
const REFILL_MS = 60_000;
/** What any question costs an engine, however short. */
const QUESTION_BYTES = 4_096;

export interface RefusedCounts {
  /**
   * Takes a prompt of so many bytes from what engines count for this key in vain: before a call is refused for want of credit.
   * Throws `key_bound_reached` when that is used up. The function gives it back where the call was admitted after all.
   */
  take(keyId: string, promptBytes: number): () => void;
}

/**
 * Prompts that engines count for calls that are then refused, by key and in bytes. A refused call takes nothing of a key's
 * limits, so without this one with a little credit would have engines count for nothing as often as it asks.
 */
export function createRefusedCounts(nowMs = () => performance.now()): RefusedCounts {
  const levels = new Map<string, { bytes: number; atMs: number }>();
  const levelOf = (keyId: string): number => {
    const level = levels.get(keyId);
    if (!level) return CAPACITY_BYTES;
    return Math.min(CAPACITY_BYTES, level.bytes + ((nowMs() - level.atMs) / REFILL_MS) * CAPACITY_BYTES);
  };
  const add = (keyId: string, bytes: number): void => {
    levels.set(keyId, { bytes: levelOf(keyId) + bytes, atMs: nowMs() });
  };
  let forgetAtMs = nowMs() + REFILL_MS;
  /** Forgets the keys whose allowance is full again: now and then, as it looks at each. */
  const forgetFull = (): void => {
    if (nowMs() < forgetAtMs) return;
    forgetAtMs = nowMs() + REFILL_MS;
    for (const keyId of levels.keys()) if (levelOf(keyId) >= CAPACITY_BYTES) levels.delete(keyId);
  };
  return {
    take(keyId, promptBytes) {
      const level = levelOf(keyId);
      if (level <= 0) {
        const retryAfterSeconds = Math.ceil(((1 - level) / CAPACITY_BYTES) * (REFILL_MS / 1_000));
        throw new ApiError<KeyBoundFault>({ kind: 'key_bound_reached', bound: 'prompt_counts', retryAfterSeconds });
      }
      const taken = promptBytes + QUESTION_BYTES;
      forgetFull();
      add(keyId, -taken);
      return () => add(keyId, taken);
    },
  };
}
