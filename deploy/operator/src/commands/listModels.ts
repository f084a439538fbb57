import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import { toUsdText } from '@turnpike/money/nanoUsd';
import { parsePrice } from '@turnpike/money/price';
import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';

const COLUMNS = [
  { title: 'id' },
  { title: 'state' },
  { title: 'engines ready', isNumber: true },
  { title: 'in USD/M', isNumber: true },
  { title: 'out USD/M', isNumber: true },
  { title: 'USD a unit' },
  { title: 'replacement' },
];

export const listModels = defineCommand({
  words: 'models list',
  summary: 'every model of the region’s catalog, also those that clients do not see',
  input: z.object({}),
  async run(_input, { services, table }) {
    const [catalog, ofText, ofMedia] = await Promise.all([
      services.catalog.getCatalog(),
      services.router.getLiveModels(),
      services.media.getLiveModels(),
    ]);
    const live = { ...ofText.models, ...ofMedia.models };
    const models = catalog.models.map(({ id, name, category, state, replacement, pricing, media }) => {
      const { engines = 0, healthy = 0 } = live[id] ?? {};
      return { id, name, category, state, replacement, engines, healthy_engines: healthy, pricing, media };
    });
    const rows = models.map((model) => [
      model.id,
      model.state,
      `${model.healthy_engines} of ${model.engines}`,
      ...(model.media
        ? ['-', '-', toUnitPrice(model.media)]
        : [toUsdPerMillion(model.pricing.prompt), toUsdPerMillion(model.pricing.completion), '-']),
      model.replacement ?? '-',
    ]);
    return {
      document: { version: catalog.version, models },
      text: `${table(COLUMNS, rows)}\n\n  Catalog version ${catalog.version}.`,
    };
  },
});

/** Formats the price of a media model; a model without a price does not run. */
const toUnitPrice = ({ billingUnit, unitPrice }: NonNullable<CatalogModel['media']>): string =>
  unitPrice === null ? `no price for a ${billingUnit}` : `${unitPrice} a ${billingUnit}`;

/** A price is an exact count of 1e-18 USD, so a million of them are a whole count of nano-dollars down to 1e-15 USD. */
const toUsdPerMillion = (price: string): string => toUsdText(parsePrice(price) / 1_000n);
