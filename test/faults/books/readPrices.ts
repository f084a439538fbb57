import type pg from 'pg';
import { z } from 'zod';
import { priceOf } from '../../support/priceOf.ts';

const pricing = z.object({
  prompt: z.string(),
  completion: z.string(),
  input_cache_read: z.string(),
  request: z.string(),
});
const versionsSchema = z.array(
  z.object({
    version: z.number(),
    models: z.array(z.object({ id: z.string(), pricing, isCacheCapable: z.boolean() })),
  }),
);

export interface Tokens {
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
}

/** Prices of tokens by a version of the catalog, and the count of cached tokens in the books. */
export interface PriceList {
  costOf(tokens: Tokens, call: { model: string; version: number }): bigint;
}

/** Every version of the catalog that was ever in force, from its own table. */
export async function readPrices(db: pg.Pool): Promise<PriceList> {
  const { rows } = await db.query('SELECT version, models FROM catalog_version');
  const versions = new Map(versionsSchema.parse(rows).map(({ version, models }) => [version, models]));
  return {
    costOf({ promptTokens, cachedTokens, completionTokens }, { model, version }) {
      const entry = versions.get(version)?.find(({ id }) => id === model);
      if (!entry) throw new Error(`version ${version} of the catalog has no price of ${model}`);
      return priceOf(
        {
          prompt_tokens: promptTokens,
          cached_tokens: entry.isCacheCapable ? cachedTokens : 0,
          completion_tokens: completionTokens,
        },
        entry.pricing,
      );
    },
  };
}
