import type { BudgetPeriod } from '@turnpike/internal-api/budgetPeriod';
import { ApiError } from '@turnpike/public-api/apiError';
import type { CallSpan } from '@turnpike/telemetry/callSpan';
import type { AuthServiceFault } from '../api/authServiceError.ts';

interface KeyAddress {
  workspaceId: string;
  keyId: string;
  /** The limits per minute, if the use of them is asked too. */
  rates?: { rpm: number; tpm: number };
  /** Period whose spend is asked for as well. */
  period?: BudgetPeriod | undefined;
}

/** A question to the router about a key. It goes on with the trace of `span`. */
export type ReadOfKey<Answer> = (key: KeyAddress, span: CallSpan) => Promise<Answer>;

/**
 * Most concurrent reads of keys: eight for each connection to the router. So the last response comes well within the
 * deadline, and the process keeps its time for authenticating keys.
 */
const MAX_KEYS = 256;

/**
 * Returns a read that asks one question at a time for a key. Look-ups that come meanwhile share the next question, because the
 * question under way may have read before the call that they are about was settled. Throws `too_many_look_ups` above 256 keys at
 * once. Look-ups that wait get the failure of the question before theirs.
 */
export function shareReads<Answer>(ask: ReadOfKey<Answer>): ReadOfKey<Answer> {
  const running = new Map<string, Promise<Answer>>();
  const next = new Map<string, Promise<Answer>>();

  function begin(key: KeyAddress, span: CallSpan): Promise<Answer> {
    const asking = ask(key, span).finally(() => running.delete(key.keyId));
    running.set(key.keyId, asking);
    return asking;
  }

  async function follow(before: Promise<Answer>, key: KeyAddress, span: CallSpan): Promise<Answer> {
    try {
      await before;
    } finally {
      next.delete(key.keyId);
    }
    return begin(key, span);
  }

  return async (key, span) => {
    const shared = next.get(key.keyId);
    if (shared) return shared;
    const before = running.get(key.keyId);
    if (before) {
      const following = follow(before, key, span);
      next.set(key.keyId, following);
      return following;
    }
    if (running.size >= MAX_KEYS) throw new ApiError<AuthServiceFault>({ kind: 'too_many_look_ups' });
    return begin(key, span);
  };
}
