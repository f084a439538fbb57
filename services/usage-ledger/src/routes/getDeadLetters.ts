import { ApiError } from '@turnpike/api-errors/apiError';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { LedgerFault } from '../api/ledgerFault.ts';
import type { Db } from '../database/createDb.ts';
import { listDeadLetters } from '../dead-letters/findDeadLetters.ts';
import { toDeadLetterBody } from '../wire/deadLetterBody.ts';

const PAGE = 500;
const querySchema = z.object({
  after: z
    .string()
    .regex(/^\d{1,18}$/)
    .default('0')
    .transform(BigInt),
  replayed: z.enum(['include']).optional(),
});

/** GET /internal/dead-letters?after=&replayed=include: records that could not be read, 500 a page in the order they came. */
export function getDeadLetters({ lookUpDb }: { lookUpDb: Db }): RequestHandler {
  return async (req, res) => {
    const query = querySchema.safeParse(req.query);
    if (!query.success) {
      const param = String(query.error.issues[0]?.path[0] ?? 'query');
      throw new ApiError<LedgerFault>({ kind: 'invalid_request', param, problem: 'is not what this route takes' });
    }
    const { after, replayed } = query.data;
    const letters = await listDeadLetters(lookUpDb, { after, limit: PAGE, withReplayed: replayed === 'include' });
    const last = letters.length === PAGE ? letters.at(-1) : undefined;
    res.json({ dead_letters: letters.map(toDeadLetterBody), next_after: last ? String(last.id) : null });
  };
}
