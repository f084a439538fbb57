import { callingKey } from '@turnpike/authentication/keyGuard';
import { ApiError } from '@turnpike/public-api/apiError';
import type { RequestHandler } from 'express';
import type { LedgerFault } from '../api/ledgerError.ts';
import type { Db } from '../database/createDb.ts';
import type { LookUpGate } from '../ledger/createLookUpGate.ts';
import { sumUsage } from '../ledger/sumUsage.ts';
import { toUsageBody } from '../wire/usageBody.ts';
import { parseUsageQuery } from '../wire/usageQuery.ts';

/** Most rows of one answer: more than a year of hours of one model. */
const MAX_ROWS = 10_000;

/**
 * GET /v1/svc/usage: what the calling key used in a range, in all and by group. What would be more than 10,000 rows is
 * refused, since a part of them would not sum to the totals.
 */
export function getUsage({ lookUpDb, lookUp }: { lookUpDb: Db; lookUp: LookUpGate }): RequestHandler {
  return async (req, res) => {
    const now = new Date();
    const query = parseUsageQuery(req.query, now);
    const { keyId } = callingKey(res);

    const report = await lookUp(keyId, () => sumUsage(lookUpDb, keyId, { ...query, limit: MAX_ROWS + 1 }));
    if (report.groups.length > MAX_ROWS) throw new ApiError<LedgerFault>(TOO_MANY_ROWS);

    res.json(toUsageBody(report, query, now));
  };
}

const TOO_MANY_ROWS = {
  kind: 'invalid_request',
  param: 'group_by',
  problem: `makes more than ${MAX_ROWS} rows: group by less, or take a shorter range`,
} as const;
