import { ApiError } from '@turnpike/api-errors/apiError';
import { z } from 'zod';
import type { LedgerFault } from '../api/ledgerFault.ts';

const idSchema = z
  .string()
  .regex(/^\d{1,18}$/)
  .transform(BigInt);

/** The id in a path. Throws `dead_letter_not_found` for what could not be one. */
export function parseDeadLetterId(text: unknown): bigint {
  const id = idSchema.safeParse(text);
  if (!id.success) throw new ApiError<LedgerFault>({ kind: 'dead_letter_not_found' });
  return id.data;
}
