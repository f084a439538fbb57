import type { RequestHandler } from 'express';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { BalanceLoader } from '../money/balances/loadBalances.ts';
import { type CountedBalance, type CountedCall, readBooks } from '../money/balances/readBooks.ts';
import type { RedisEpoch } from '../money/redis/redisEpoch.ts';

const paramsSchema = z.object({ workspace_id: z.string().min(1).max(128) });
const querySchema = z.object({ after: z.coerce.number().int().min(0).default(0) });

/**
 * GET /internal/workspaces/{workspace_id}/books?after=: all that the gate counts of a workspace, of one instant, for whoever
 * holds it against the ledger.
 */
export function getWorkspaceBooks(dependencies: {
  redis: Redis;
  balances: Pick<BalanceLoader, 'load'>;
  epoch: Pick<RedisEpoch, 'stamp'>;
}): RequestHandler {
  return async (req, res) => {
    const { workspace_id: workspaceId } = paramsSchema.parse(req.params);
    const { after } = querySchema.parse(req.query);
    const books = await readBooks(dependencies, { workspaceId, after });
    res.json({
      now_ms: books.nowMs,
      epoch: books.epoch,
      credit_seq: books.creditSeq,
      credited_nano_usd: String(books.creditedNanoUsd),
      ...toBalanceBody(books),
      admitted_calls: books.admittedCalls,
      uncertain_calls: books.uncertainCalls,
      keys: Object.fromEntries(books.keys.map(({ keyId, ...balance }) => [keyId, toBalanceBody(balance)])),
      months: Object.fromEntries(
        Object.entries(books.months).map(([month, balance]) => [month, toBalanceBody(balance)]),
      ),
      calls: books.calls.map(toCallBody),
      next_after: books.nextAfter ?? null,
    });
  };
}

const toBalanceBody = ({ spentNanoUsd, heldNanoUsd }: CountedBalance) => ({
  spent_nano_usd: String(spentNanoUsd),
  held_nano_usd: String(heldNanoUsd),
});

const toCallBody = (call: CountedCall) => ({
  call_id: call.callId,
  key_id: call.keyId,
  state: call.state,
  hold_nano_usd: String(call.holdNanoUsd),
  charge_nano_usd: String(call.chargeNanoUsd),
  owner: call.owner,
  admitted_at_ms: call.admittedAtMs,
  lease_ends_in_ms: call.leaseEndsInMs,
});
