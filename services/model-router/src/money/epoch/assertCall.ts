import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { RecordedRows } from '../balances/loadBalances.ts';
import type { HeldCall } from '../call/heldCalls.ts';
import { toUnknownEventJson } from '../call/toEvent.ts';
import type { EpochStamp } from '../redis/redisEpoch.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import { defineScript } from '../redis/redisScript.ts';

const answerSchema = z.enum(['asserted', 'known', 'not_loaded', 'other_redis']);

/**
 * Makes `assertCall(held, stamp, rows)`: a call that was under way when Redis was lost gets its hold and lease back in a new
 * epoch, once, however often it is asserted. `rows` says whether the ledger has one of it, as it was swept before. Rejects
 * where that epoch's balances are not there.
 */
export function createAssertCall(
  redis: Redis,
  { routerId, leaseMs }: { routerId: string; leaseMs: number },
): (held: HeldCall, stamp: EpochStamp, rows: RecordedRows) => Promise<void> {
  const assertCall = defineScript(redis, new URL('./assertCall.lua', import.meta.url));
  return async ({ call, terms }, { number, redisId }, rows) => {
    const { callId, keyId, workspaceId, holdNanoUsd } = call;
    const answer = await assertCall(
      [
        redisKeys.wallet(workspaceId),
        redisKeys.key(workspaceId, keyId),
        redisKeys.months(workspaceId),
        redisKeys.call(workspaceId, callId),
        redisKeys.calls(workspaceId),
        redisKeys.keys(workspaceId),
        redisKeys.workspaces,
      ],
      [
        callId,
        number,
        redisId,
        keyId,
        routerId,
        holdNanoUsd.toString(),
        new Date(terms.admittedAtMs).toISOString().slice(0, 7),
        terms.estimatedPromptTokens,
        terms.rpm,
        terms.tpm,
        terms.admittedAtMs,
        toUnknownEventJson(call),
        leaseMs,
        rows.callIds.has(callId) ? 1 : 0,
        rows.count,
        workspaceId,
      ],
    );
    const outcome = answerSchema.parse(answer);
    if (outcome === 'not_loaded' || outcome === 'other_redis') throw new Error(`call cannot be asserted: ${outcome}`);
  };
}
