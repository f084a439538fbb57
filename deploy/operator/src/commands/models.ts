import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import { parsePrice } from '@turnpike/money/price';
import { z } from 'zod';
import { type Command, type Context, defineCommand, type Report } from '../cli/command.ts';
import { modelId, modelName } from '../cli/fields.ts';
import { RefusedError } from '../cli/operatorError.ts';
import { type Columns, tabulate } from '../report/entries.ts';
import type { Services } from '../stack/createServices.ts';

/** Reads the catalog in force, and what serves each model. */
async function readModels({ catalog, router, media }: Services) {
  const [snapshot, ofText, ofMedia] = await Promise.all([
    catalog.getCatalog(),
    router.getLiveModels(),
    media.getLiveModels(),
  ]);
  const live = { ...ofText.models, ...ofMedia.models };
  const countsOf = (id: string) => {
    const { engines = 0, healthy = 0 } = live[id] ?? {};
    return { engines, healthy_engines: healthy };
  };
  return { ...snapshot, countsOf };
}

async function change(id: string, how: 'disable' | 'enable', { services }: Context): Promise<Report> {
  const call = { params: { model_id: id } };
  const { model, version } = await (how === 'disable'
    ? services.catalog.disableModel(call)
    : services.catalog.enableModel(call));
  const state = `${how}d`;
  return {
    document: { model, state, version },
    text: `${model} is ${state} by catalog version ${version}, which every router has within 5 s.`,
  };
}

export const modelCommands: Command[] = [
  defineCommand({
    words: 'models list',
    summary: 'every model of the region’s catalog, also those that clients do not see',
    async run(_input, { services, table }) {
      const { models: all, version, countsOf } = await readModels(services);
      const models = all.map(({ id, name, category, state, replacement, pricing, media }) => {
        return { id, name, category, state, replacement, ...countsOf(id), pricing, media };
      });
      const columns: Columns<(typeof models)[number]> = {
        id: 'id',
        state: 'state',
        'engines ready': (model) => `${model.healthy_engines} of ${model.engines}`,
        'in USD/M': ({ media, pricing }) => (media ? null : toUsdPerMillion(pricing.prompt)),
        'out USD/M': ({ media, pricing }) => (media ? null : toUsdPerMillion(pricing.completion)),
        'USD a unit': ({ media }) => media && toUnitPrice(media),
        replacement: 'replacement',
      };
      return {
        document: { version, models },
        text: `${tabulate(table, columns, models)}\n\n  Catalog version ${version}.`,
      };
    },
  }),
  defineCommand({
    words: 'models show',
    summary: 'a model’s entry in the catalog in force, by its id or an alias, and how many engines it has',
    input: z.object({ model: modelName }),
    async run({ model: name }, { services, table }) {
      const { models, version, countsOf } = await readModels(services);
      const model = models.find(({ id }) => id === name) ?? models.find(({ aliases }) => aliases.includes(name));
      if (!model) throw new RefusedError(`The catalog has no model ${name}. "turnpike models list" shows the ids.`);
      const counts = countsOf(model.id);
      const rows = Object.entries(model).flatMap(([field, value]) => toRows(field, value));
      return {
        document: { version, ...counts, model },
        text: `${table([], rows)}\n\n  ${counts.healthy_engines} of ${counts.engines} engines take calls. Catalog version ${version}.`,
      };
    },
  }),
  defineCommand({
    words: 'models disable',
    summary: 'take a model out of service until it is enabled, whatever the catalog file says',
    input: z.object({ model: modelId }),
    run: ({ model }, context) => change(model, 'disable', context),
  }),
  defineCommand({
    words: 'models enable',
    summary: 'put a disabled model back into service',
    input: z.object({ model: modelId }),
    run: ({ model }, context) => change(model, 'enable', context),
  }),
];

/** Formats the price of a media model; a model without a price does not run. */
const toUnitPrice = ({ billingUnit, unitPrice }: NonNullable<CatalogModel['media']>): string =>
  unitPrice === null ? `no price for a ${billingUnit}` : `${unitPrice} a ${billingUnit}`;

/** Converts a price to nano-dollars of a million. A price is an exact count of 1e-18 USD, so that is exact down to 1e-15 USD. */
const toUsdPerMillion = (price: string): bigint => parsePrice(price) / 1_000n;

/** Makes a row for each value, with its place in the entry. A list is one value. */
function toRows(place: string, value: unknown): string[][] {
  if (value === null || value === undefined) return [[place, '-']];
  if (Array.isArray(value)) return [[place, value.join(', ') || '-']];
  if (typeof value === 'object')
    return Object.entries(value).flatMap(([field, inner]) => toRows(`${place}.${field}`, inner));
  return [[place, String(value)]];
}
