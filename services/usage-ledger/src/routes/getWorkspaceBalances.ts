import { ApiError } from '@turnpike/api-errors/apiError';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { getBalances } from '../credits/getBalances.ts';
import type { Db } from '../database/createDb.ts';
import { areBalancesReady } from '../epoch/areBalancesReady.ts';
import type { LedgerFault } from '../ledgerFault.ts';
import { toBalancesBody } from '../wire/balancesBody.ts';

const monthSchema = z.string().regex(/^20\d\d-(0[1-9]|1[0-2])$/);
const paramsSchema = z.object({ workspace_id: z.string() });
const epochSchema = z.coerce.number().int().min(0).optional();

export interface GetWorkspaceBalancesDependencies {
  db: Db;
}

/**
 * GET /internal/workspaces/{workspace_id}/balances?month=YYYY-MM&epoch=: from what is recorded. With `epoch`, 409 unless that
 * epoch of Redis is in force and all that ended before it is recorded; so the event log need not be asked.
 */
export function getWorkspaceBalances({ db }: GetWorkspaceBalancesDependencies): RequestHandler {
  return async (req, res) => {
    const { workspace_id: workspaceId } = paramsSchema.parse(req.params);
    const month = monthSchema.safeParse(req.query.month);
    if (!month.success) {
      const problem = 'must be a month as YYYY-MM';
      throw new ApiError<LedgerFault>({ kind: 'invalid_request', param: 'month', problem });
    }
    const epoch = epochSchema.safeParse(req.query.epoch).data;
    if (epoch !== undefined && !(await areBalancesReady(db, epoch)))
      throw new ApiError<LedgerFault>({ kind: 'epoch_not_ready' });
    res.json(toBalancesBody(await getBalances(db, { workspaceId, month: month.data })));
  };
}
