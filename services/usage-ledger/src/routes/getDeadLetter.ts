import { ApiError } from '@turnpike/api-errors/apiError';
import type { RequestHandler } from 'express';
import type { LedgerFault } from '../api/ledgerFault.ts';
import type { Db } from '../database/createDb.ts';
import { findDeadLetter } from '../dead-letters/findDeadLetters.ts';
import { toDeadLetterBody } from '../wire/deadLetterBody.ts';
import { parseDeadLetterId } from '../wire/deadLetterId.ts';

/** GET /internal/dead-letters/{dead_letter_id}: one, with the first 64 KiB of its bytes. */
export function getDeadLetter({ lookUpDb }: { lookUpDb: Db }): RequestHandler {
  return async (req, res) => {
    const letter = await findDeadLetter(lookUpDb, parseDeadLetterId(req.params.dead_letter_id));
    if (!letter) throw new ApiError<LedgerFault>({ kind: 'dead_letter_not_found' });
    res.json({ ...toDeadLetterBody(letter), payload_base64: Buffer.from(letter.payload).toString('base64') });
  };
}
