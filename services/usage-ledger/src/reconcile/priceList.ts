import { catalogSnapshotSchema } from '@turnpike/internal-api/catalogSnapshot';
import { parsePrice, type TextPrices } from '@turnpike/money/price';
import { request } from 'undici';
import type { Db } from '../database/createDb.ts';

/** What a model cost under a version of the catalog. */
export type PriceList = { version: number; model: string; of: TextPrices }[];

export interface PriceBookOptions {
  catalogUrl: string;
  internalHeaders: (audience: string) => Record<string, string>;
}

const TIMEOUT_MS = 5_000;

/**
 * The prices of every catalog version that rows name, each asked of the catalog once: a version never changes. One that the
 * catalog does not know has no prices here. Rejects when the catalog cannot be asked.
 */
export function createPriceBook({ catalogUrl, internalHeaders }: PriceBookOptions) {
  const known = new Map<number, PriceList>();

  async function fetchPrices(version: number): Promise<PriceList> {
    const { statusCode, body } = await request(`${catalogUrl}/internal/catalog/versions/${version}`, {
      headers: internalHeaders('catalog'),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await body.text();
    if (statusCode === 404) return [];
    if (statusCode !== 200) throw new Error(`catalog answered ${statusCode} to a question for an old version`);
    return catalogSnapshotSchema.parse(JSON.parse(text)).models.map(({ id, pricing }) => ({
      version,
      model: id,
      of: {
        prompt: parsePrice(pricing.prompt),
        completion: parsePrice(pricing.completion),
        inputCacheRead: parsePrice(pricing.input_cache_read),
        request: parsePrice(pricing.request),
        image: parsePrice(pricing.image),
      },
    }));
  }

  return async function listPrices(db: Db): Promise<PriceList> {
    const rows = await db.$queryRaw<{ version: number }[]>`SELECT DISTINCT price_version AS version FROM usage_request`;
    for (const { version } of rows) {
      if (known.has(version)) continue;
      const prices = await fetchPrices(version);
      if (prices.length > 0) known.set(version, prices);
    }
    return [...known.values()].flat();
  };
}

export type ListPrices = ReturnType<typeof createPriceBook>;
