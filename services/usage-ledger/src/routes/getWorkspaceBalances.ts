import { ApiError } from '@turnpike/api-errors/apiError';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { LedgerFault } from '../api/ledgerFault.ts';
import { getBalances } from '../credits/getBalances.ts';
import type { Db } from '../database/createDb.ts';
import { toBalancesBody } from '../wire/balancesBody.ts';
import { monthSchema } from '../wire/month.ts';

const paramsSchema = z.object({ workspace_id: z.string() });

/** GET /internal/workspaces/{workspace_id}/balances?month=YYYY-MM: from what is recorded by now, for operators. */
export function getWorkspaceBalances({ db }: { db: Db }): RequestHandler {
  return async (req, res) => {
    const { workspace_id: workspaceId } = paramsSchema.parse(req.params);
    const { data: month } = monthSchema.safeParse(req.query.month);
    if (month === undefined) {
      const problem = 'must be a month as YYYY-MM';
      throw new ApiError<LedgerFault>({ kind: 'invalid_request', param: 'month', problem });
    }
    res.json(toBalancesBody(await getBalances(db, { workspaceId, month }), { month }));
  };
}
