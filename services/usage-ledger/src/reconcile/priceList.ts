import { catalogApi } from '@turnpike/internal-api/catalog';
import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import { type Client, isRefusal } from '@turnpike/internal-api/transport/createClient';
import { parsePrice, type TextPrices } from '@turnpike/money/price';
import type { UnitPrice } from '@turnpike/money/unitPrice';
import { sql } from '@turnpike/postgres/sql';
import type { Db } from '../database/createDb.ts';

/** The prices of models, by the version of the catalog: of tokens, or of what media are billed by. */
export type PriceList = { version: number; model: string; of: TextPrices | UnitPrice }[];

/** The calls whose prices are wanted: those that began in a range, of one workspace or all. */
export interface PricedCalls {
  since: Date;
  until?: Date;
  workspaceId?: string | undefined;
}

/**
 * Returns the prices of a catalog version; none if the catalog has no such version. Rejects if the catalog does not
 * answer.
 */
export type PricesOf = (version: number) => Promise<PriceList>;

/** Makes a function that reads the prices of a catalog version, each from the catalog once, because a version never changes. */
export function createPricesOf(catalog: Pick<Client<typeof catalogApi>, 'getCatalogVersion'>): PricesOf {
  const known = new Map<number, Promise<PriceList>>();

  async function fetchPrices(version: number): Promise<PriceList> {
    const snapshot = await catalog.getCatalogVersion({ params: { version } }).catch((error: unknown) => {
      if (isRefusal(error, catalogApi.routes.getCatalogVersion, 'version_not_found')) return undefined;
      throw error;
    });
    return (snapshot?.models ?? []).flatMap((model) => {
      const of = readPrices(model);
      return of ? [{ version, model: model.id, of }] : [];
    });
  }

  return async (version) => {
    const asked = known.get(version) ?? fetchPrices(version);
    known.set(version, asked);
    const forget = () => known.delete(version);
    const prices = await asked.catch((error: unknown) => {
      forget();
      throw error;
    });
    if (prices.length === 0) forget();
    return prices;
  };
}

/** Makes a function that lists the prices of every catalog version that some calls name, or calls that amend a seal. */
export const createPriceList =
  (pricesOf: PricesOf) =>
  async (db: Db, calls: PricedCalls): Promise<PriceList> => {
    const prices: PriceList[] = [];
    for (const version of await readVersions(db, calls)) prices.push(await pricesOf(version));
    return prices.flat();
  };

/** A model's prices; undefined of media that have none. */
function readPrices({ pricing, media }: CatalogModel): PriceList[number]['of'] | undefined {
  if (media)
    return media.unitPrice === null
      ? undefined
      : { billingUnit: media.billingUnit, price: parsePrice(media.unitPrice) };
  return {
    prompt: parsePrice(pricing.prompt),
    completion: parsePrice(pricing.completion),
    inputCacheRead: parsePrice(pricing.input_cache_read),
    request: parsePrice(pricing.request),
    image: parsePrice(pricing.image),
  };
}

export type ListPrices = ReturnType<typeof createPriceList>;

async function readVersions(db: Db, { since, until, workspaceId }: PricedCalls): Promise<number[]> {
  const rows = await db.query(sql<{ version: number }>`
    SELECT DISTINCT price_version AS version FROM usage_request
    WHERE started_at >= ${since.toISOString()}::TIMESTAMPTZ
      AND started_at < ${until?.toISOString() ?? 'infinity'}::TIMESTAMPTZ
      AND (${workspaceId ?? null}::TEXT IS NULL OR workspace_id = ${workspaceId ?? null})
    UNION
    SELECT price_version FROM seal_amendment JOIN usage_request USING (call_id)`);
  return rows.map(({ version }) => version);
}

/** A price list as `priced_calls` takes it. Prices as text: a number of JSON is no bigint here. */
export const toPricesJson = (prices: PriceList): string =>
  JSON.stringify(
    prices.map(({ version, model, of }) => ({
      version,
      model,
      ...('billingUnit' in of
        ? { unit: of.billingUnit, unit_price: String(of.price) }
        : {
            prompt: String(of.prompt),
            cached: String(of.inputCacheRead),
            completion: String(of.completion),
            image: String(of.image),
            request: String(of.request),
          }),
    })),
  );
