import { nanoUsdSchema } from '@turnpike/money/nanoUsd';
import { request } from 'undici';
import { z } from 'zod';

const balanceSchema = z.object({ spent_nano_usd: nanoUsdSchema, held_nano_usd: nanoUsdSchema });
const booksSchema = balanceSchema.extend({
  now_ms: z.number().int(),
  /** Number of the last credit that is counted. */
  credit_seq: z.number().int(),
  credited_nano_usd: nanoUsdSchema,
  admitted_calls: z.number().int(),
  /** Among those, calls from before Redis was lost that may be counted twice. */
  uncertain_calls: z.number().int(),
  keys: z.record(z.string(), balanceSchema),
  months: z.record(z.string(), balanceSchema),
  calls: z.array(
    z.object({
      call_id: z.string(),
      key_id: z.string(),
      state: z.enum(['held', 'settled', 'swept']),
      hold_nano_usd: nanoUsdSchema,
      charge_nano_usd: nanoUsdSchema,
      admitted_at_ms: z.number().int(),
      lease_ends_in_ms: z.number(),
    }),
  ),
  next_after: z.number().nullable(),
});

/** What Redis counts of a workspace, of one instant, as the router says. */
export type RedisBooks = z.output<typeof booksSchema>;

export interface RouterOptions {
  routerUrl: string;
  internalHeaders: (audience: string) => Record<string, string>;
}

const TIMEOUT_MS = 2_000;

/** Asks a router. Rejects while it cannot say: without Redis, or while balances are built anew. */
export async function fetchRedisBooks(
  { routerUrl, internalHeaders }: RouterOptions,
  workspaceId: string,
): Promise<RedisBooks> {
  const url = `${routerUrl}/internal/workspaces/${encodeURIComponent(workspaceId)}/books`;
  const { statusCode, body } = await request(url, {
    headers: internalHeaders('model-router'),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`model-router answered ${statusCode} to a question for what Redis counts`);
  return booksSchema.parse(JSON.parse(text));
}
