import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { ApiError } from '@turnpike/public-api/apiError';
import type { CallSpan } from '@turnpike/telemetry/callSpan';
import type { AuthServiceFault } from '../api/authServiceFault.ts';
import type { RouterClient } from './routerClient.ts';

export type GetKeySpend = RouterClient['getKeySpend'];

/**
 * Keys asked about at once: eight for each connection to the router, so that the last one's answer comes well within the
 * deadline, and this process has little to do but give verdicts.
 */
const MAX_KEYS = 256;

/**
 * Asks the router for live spend, one question at a time for a key: however many look-ups of it there are, the ones that come
 * meanwhile share the next question. Not the one under way, which may have read before the call that they are about was settled. Throws
 * `too_many_look_ups` besides, and for those that wait what the question before theirs failed with.
 */
export function createSpendReader({ getKeySpend }: Pick<RouterClient, 'getKeySpend'>): GetKeySpend {
  const running = new Map<string, Promise<NanoUsd>>();
  const next = new Map<string, Promise<NanoUsd>>();

  function begin(key: Parameters<GetKeySpend>[0], span: CallSpan): Promise<NanoUsd> {
    const asking = getKeySpend(key, span).finally(() => running.delete(key.keyId));
    running.set(key.keyId, asking);
    return asking;
  }

  async function follow(before: Promise<NanoUsd>, key: Parameters<GetKeySpend>[0], span: CallSpan): Promise<NanoUsd> {
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
