import { catalogApi } from '@turnpike/internal-api/catalog';
import { type Client, isRefusal } from '@turnpike/internal-api/createClient';
import { parsePrice, type TextPrices } from '@turnpike/money/price';
import type { Db } from '../database/createDb.ts';

/** The prices of models, by the version of the catalog. */
export type PriceList = { version: number; model: string; of: TextPrices }[];

/**
 * The prices of every catalog version that rows name, each asked of the catalog once: a version never changes. One that the
 * catalog does not know has no prices here. Rejects when the catalog cannot be asked.
 */
export function createPriceList(catalog: Pick<Client<typeof catalogApi>, 'getCatalogVersion'>) {
  const known = new Map<number, PriceList>();

  async function fetchPrices(version: number): Promise<PriceList> {
    const snapshot = await catalog.getCatalogVersion({ params: { version } }).catch((error: unknown) => {
      if (isRefusal(error, catalogApi.routes.getCatalogVersion, 'version_not_found')) return undefined;
      throw error;
    });
    return (snapshot?.models ?? []).map(({ id, pricing }) => ({
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

export type ListPrices = ReturnType<typeof createPriceList>;
