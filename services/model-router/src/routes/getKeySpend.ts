import type { RequestHandler } from 'express';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { findKeySpend } from '../money/balances/findKeySpend.ts';
import type { BalanceLoader } from '../money/balances/loadBalances.ts';
import type { RedisEpoch } from '../money/redis/redisEpoch.ts';

const paramsSchema = z.object({ workspace_id: z.string().min(1).max(128), key_id: z.string().min(1).max(128) });

/** GET /internal/workspaces/{workspace_id}/keys/{key_id}/spend: live spend, for auth's `/v1/svc/key`. */
export function getKeySpend(dependencies: {
  redis: Redis;
  balances: BalanceLoader;
  epoch: Pick<RedisEpoch, 'stamp'>;
}): RequestHandler {
  return async (req, res) => {
    const { workspace_id: workspaceId, key_id: keyId } = paramsSchema.parse(req.params);
    const { spentNanoUsd, heldNanoUsd } = await findKeySpend(dependencies, { workspaceId, keyId });
    res.json({ spend_nano_usd: spentNanoUsd.toString(), held_nano_usd: heldNanoUsd.toString() });
  };
}
