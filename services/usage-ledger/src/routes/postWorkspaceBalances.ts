import { ApiError } from '@turnpike/api-errors/apiError';
import { createBodyReader } from '@turnpike/http-service/createBodyReader';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { LedgerFault } from '../api/ledgerFault.ts';
import { getBalances } from '../credits/getBalances.ts';
import type { Db } from '../database/createDb.ts';
import { areBalancesReady } from '../epoch/areBalancesReady.ts';
import { toGateBalancesBody } from '../wire/balancesBody.ts';
import { monthSchema } from '../wire/month.ts';

const paramsSchema = z.object({ workspace_id: z.string() });
const questionSchema = z.object({
  month: monthSchema,
  epoch: z.number().int().min(0),
  calls: z.array(z.uuid()).max(10_000),
});
const LIMIT_BYTES = 512 * 1024;

/**
 * POST /internal/workspaces/{workspace_id}/balances: what the gate goes on counting from in an epoch of Redis, and which of the
 * calls that Redis or a router still has are counted in it. 409 unless that epoch is in force and all that ended before it is
 * recorded; so the event log need not be asked. A POST, as the calls may be many; it changes nothing.
 */
export function postWorkspaceBalances({ db }: { db: Db }): RequestHandler {
  const readBody = createBodyReader(questionSchema, { limitBytes: LIMIT_BYTES });
  return async (req, res) => {
    const { workspace_id: workspaceId } = paramsSchema.parse(req.params);
    const { month, epoch, calls: callIds } = await readBody(req, res);
    if (!(await areBalancesReady(db, epoch))) throw new ApiError<LedgerFault>({ kind: 'epoch_not_ready' });
    res.json(toGateBalancesBody(await getBalances(db, { workspaceId, month, callIds })));
  };
}
