import { ApiError } from '@turnpike/api-errors/apiError';
import { isCanceled } from '@turnpike/postgres/databaseFailure';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { LedgerFault } from '../api/ledgerFault.ts';
import type { Db } from '../database/createDb.ts';
import { listDailyUsage } from '../ledger/listDailyUsage.ts';
import { toDailyUsageBody } from '../wire/dailyUsageBody.ts';

/** Most entries of one answer. */
const MAX_ENTRIES = 10_000;

const ownerId = z
  .string()
  .max(128)
  .regex(/^[^\0]+$/, 'must be an id');
const daySchema = z.iso.date('must be a day as YYYY-MM-DD');
const querySchema = z
  .strictObject({ key_id: ownerId.optional(), workspace_id: ownerId.optional(), start: daySchema, end: daySchema })
  .refine(({ start, end }) => start < end, { path: ['end'], message: 'must be a later day than start' });

/**
 * GET /internal/usage?key_id=|workspace_id=&start=&end=: what keys used by UTC day, for the operator. `end` is the first
 * day left out. What would be more than 10,000 entries is refused.
 */
export function getDailyUsage({ lookUpDb }: { lookUpDb: Db }): RequestHandler {
  return async (req, res) => {
    const query = querySchema.safeParse(req.query);
    if (!query.success) {
      const [issue] = query.error.issues;
      throw invalid(issue?.path.join('.') || 'query', issue?.message ?? 'is not what this route takes');
    }
    const { key_id: keyId, workspace_id: workspaceId, start: startDay, end: endDay } = query.data;
    if ((keyId === undefined) === (workspaceId === undefined)) throw invalid('key_id', 'or workspace_id must be given');
    const owner = keyId === undefined ? { workspaceId: workspaceId ?? '' } : { keyId };
    const usage = await listDailyUsage(lookUpDb, owner, { startDay, endDay, limit: MAX_ENTRIES + 1 }).catch(
      (error: unknown) => {
        throw isCanceled(error) ? new ApiError<LedgerFault>({ kind: 'usage_timeout' }, { cause: error }) : error;
      },
    );
    if (usage.length > MAX_ENTRIES) throw invalid('end', `is too late: ${MAX_ENTRIES} entries at most are given`);
    res.json({ usage: usage.map(toDailyUsageBody) });
  };
}

const invalid = (param: string, problem: string): ApiError<LedgerFault> =>
  new ApiError({ kind: 'invalid_request', param, problem });
