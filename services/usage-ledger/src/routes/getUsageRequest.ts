import { callingKey } from '@turnpike/authentication/keyGuard';
import { ApiError } from '@turnpike/public-api/apiError';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { LedgerFault } from '../api/ledgerError.ts';
import type { Db } from '../database/createDb.ts';
import type { LookUpGate } from '../ledger/createLookUpGate.ts';
import { findUsageRequest } from '../ledger/findUsageRequest.ts';
import { toUsageRequestBody } from '../wire/usageRequestBody.ts';

const paramsSchema = z.object({ request_id: z.string() });

/** GET /v1/svc/usage/request/{request_id}: one request's usage, shown only to the key that made it. */
export function getUsageRequest({ lookUpDb, lookUp }: { lookUpDb: Db; lookUp: LookUpGate }): RequestHandler {
  return async (req, res) => {
    const { request_id: callId } = paramsSchema.parse(req.params);
    const { keyId } = callingKey(res);

    const usage = await lookUp(keyId, () => findUsageRequest(lookUpDb, { callId, keyId }));
    if (!usage) throw new ApiError<LedgerFault>({ kind: 'usage_not_found' });

    res.json(toUsageRequestBody(usage, new Date()));
  };
}
