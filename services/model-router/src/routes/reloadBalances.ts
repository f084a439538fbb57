import { ApiError } from '@turnpike/api-errors/apiError';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { AdmissionFault } from '../api/chatFault.ts';
import type { BalanceLoader } from '../money/balances/loadBalances.ts';
import type { RedisEpoch } from '../money/redis/redisEpoch.ts';

const paramsSchema = z.object({ workspace_id: z.string().min(1).max(128) });

/**
 * POST /internal/workspaces/{workspace_id}/balances/reload: the ledger says that it took credit from a workspace. Answered once
 * Redis has it, so from the next call on every router counts it. Throws `admission_unavailable` while that cannot be had.
 */
export function reloadBalances({
  balances,
  epoch,
}: {
  balances: Pick<BalanceLoader, 'reload'>;
  epoch: Pick<RedisEpoch, 'isOpen'>;
}): RequestHandler {
  return async (req, res) => {
    const { workspace_id: workspaceId } = paramsSchema.parse(req.params);
    if (!epoch.isOpen) throw refuse();
    await balances.reload(workspaceId).catch((error: unknown) => {
      throw refuse(error);
    });
    res.json({});
  };
}

const refuse = (cause?: unknown): ApiError<AdmissionFault> =>
  new ApiError({ kind: 'admission_unavailable' }, { cause });
