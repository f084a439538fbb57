import { createBodyReader } from '@turnpike/http-service/createBodyReader';
import { toChangeLog } from '@turnpike/http-service/toRequestLog';
import type { Logger } from '@turnpike/logging/createLogger';
import { LARGEST_LIMIT_NANO_USD, nanoUsdSchema } from '@turnpike/money/nanoUsd';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { addCredit } from '../credits/addCredit.ts';
import type { Db } from '../database/createDb.ts';

const id = z.string().regex(/^[A-Za-z0-9_-]{1,128}$/, 'must be 1 to 128 letters, digits, dashes or underscores');
const creditSchema = z.object({
  credit_id: id,
  workspace_id: id,
  amount_nano_usd: nanoUsdSchema
    .refine((amount) => amount !== 0n, 'must not be zero')
    .refine(
      (amount) => amount <= LARGEST_LIMIT_NANO_USD && amount >= -LARGEST_LIMIT_NANO_USD,
      `must be at most ${LARGEST_LIMIT_NANO_USD} either way`,
    ),
  note: z
    .string()
    .max(500)
    .regex(/^[^\0]*$/, 'must not hold a NUL'),
});

/**
 * POST /internal/credits: gives a workspace something to spend, or below zero takes it, once for each credit id. What takes
 * holds from the next call on; repeating it announces it again. Throws `gate_not_told` where it is recorded alone.
 */
export function postCredit({
  log,
  db,
  announceCredit,
}: {
  log: Logger;
  db: Db;
  announceCredit: (workspaceId: string) => Promise<void>;
}): RequestHandler {
  const readBody = createBodyReader(creditSchema, { limitBytes: 16 * 1024 });
  return async (req, res) => {
    const body = await readBody(req, res);
    const isApplied = await addCredit(db, {
      creditId: body.credit_id,
      workspaceId: body.workspace_id,
      amountNanoUsd: body.amount_nano_usd,
      note: body.note,
    });
    toChangeLog(log, res).info(
      {
        creditId: body.credit_id,
        workspaceId: body.workspace_id,
        amountNanoUsd: body.amount_nano_usd.toString(),
        isApplied,
      },
      'credit applied',
    );
    // Routers ask for what gives themselves, before they refuse a call for want of it.
    if (body.amount_nano_usd < 0n) await announceCredit(body.workspace_id);
    res.json({ applied: isApplied });
  };
}
