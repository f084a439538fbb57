import { ApiError } from '@turnpike/api-errors/apiError';
import { createBodyReader } from '@turnpike/http-service/createBodyReader';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { LedgerFault } from '../api/ledgerFault.ts';
import type { Db } from '../database/createDb.ts';
import { replayDeadLetter } from '../dead-letters/replayDeadLetter.ts';
import { LARGEST_EVENT_BYTES, type ReadContext } from '../ledger/readUsageEvent.ts';
import { parseDeadLetterId } from '../wire/deadLetterId.ts';

/** Base64 takes four characters for three bytes. */
const LONGEST_BASE64 = Math.ceil(LARGEST_EVENT_BYTES / 3) * 4;
const replaySchema = z.object({ repaired_base64: z.base64().max(LONGEST_BASE64).optional() });

/**
 * POST /internal/dead-letters/{dead_letter_id}/replay: reads it again, or what it was repaired to, and records the call.
 * 404 when none of that id waits.
 */
export function postDeadLetterReplay({ db, region }: { db: Db; region: ReadContext['region'] }): RequestHandler {
  const readBody = createBodyReader(replaySchema, { limitBytes: 2 * LONGEST_BASE64 });
  return async (req, res) => {
    const id = parseDeadLetterId(req.params.dead_letter_id);
    const { repaired_base64: repaired } = await readBody(req, res);
    const outcome = await replayDeadLetter(db, {
      id,
      repaired: repaired === undefined ? undefined : Buffer.from(repaired, 'base64'),
      context: { region, now: new Date() },
    });
    if (!outcome) throw new ApiError<LedgerFault>({ kind: 'dead_letter_not_found' });
    res.json({ id: String(outcome.id), is_replayed: outcome.reason === null, reason: outcome.reason });
  };
}
