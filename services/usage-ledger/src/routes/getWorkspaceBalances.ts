import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from '@turnpike/api-errors/apiError';
import type { EventLogConsumer } from '@turnpike/event-log/eventLog';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { getBalances } from '../credits/getBalances.ts';
import type { Db } from '../database/createDb.ts';
import type { LedgerFault } from '../ledgerFault.ts';
import { toBalancesBody } from '../wire/balancesBody.ts';

const monthSchema = z.string().regex(/^20\d\d-(0[1-9]|1[0-2])$/);
const paramsSchema = z.object({ workspace_id: z.string() });

/** The log may be down while balances are wanted; the answer does not wait longer for it. */
const LAG_TIMEOUT_MS = 300;

export interface GetWorkspaceBalancesDependencies {
  db: Db;
  consumer: Pick<EventLogConsumer, 'lag'>;
}

/**
 * GET /internal/workspaces/{workspace_id}/balances?month=YYYY-MM: from what is recorded. `event_log_lag` says how many
 * events were still to be read before that, null when the log did not say: sums are complete only where it is 0.
 */
export function getWorkspaceBalances({ db, consumer }: GetWorkspaceBalancesDependencies): RequestHandler {
  return async (req, res) => {
    const { workspace_id: workspaceId } = paramsSchema.parse(req.params);
    const month = monthSchema.safeParse(req.query.month);
    if (!month.success) {
      const problem = 'must be a month as YYYY-MM';
      throw new ApiError<LedgerFault>({ kind: 'invalid_request', param: 'month', problem });
    }
    // Asked first: what is counted afterwards can only be more.
    const lag = await findLag(consumer);
    res.json(toBalancesBody(await getBalances(db, { workspaceId, month: month.data }), lag));
  };
}

async function findLag(consumer: Pick<EventLogConsumer, 'lag'>): Promise<bigint | undefined> {
  const timeout = delay(LAG_TIMEOUT_MS, undefined, { ref: false });
  return Promise.race([consumer.lag().catch(() => undefined), timeout]);
}
