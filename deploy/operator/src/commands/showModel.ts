import { z } from 'zod';
import { defineCommand } from '../cli/command.ts';
import { modelName } from '../cli/fields.ts';
import { RefusedError } from '../cli/operatorError.ts';

export const showModel = defineCommand({
  words: 'models show',
  summary: 'a model’s entry in the catalog in force, by its id or an alias, and how many engines it has',
  operands: { model: 'MODEL' },
  input: z.object({ model: modelName }),
  async run({ model: name }, { services, table }) {
    const [catalog, ofText, ofMedia] = await Promise.all([
      services.catalog.getCatalog(),
      services.router.getLiveModels(),
      services.media.getLiveModels(),
    ]);
    const { models, version } = catalog;
    const model = models.find(({ id }) => id === name) ?? models.find(({ aliases }) => aliases.includes(name));
    if (!model) throw new RefusedError(`The catalog has no model ${name}. "turnpike models list" shows the ids.`);
    const { engines, healthy } = { ...ofText.models, ...ofMedia.models }[model.id] ?? { engines: 0, healthy: 0 };
    const rows = Object.entries(model).flatMap(([field, value]) => toRows(field, value));
    return {
      document: { version, engines, healthy_engines: healthy, model },
      text: `${table([], rows)}\n\n  ${healthy} of ${engines} engines take calls. Catalog version ${version}.`,
    };
  },
});

/** A row for each value, with its place in the entry. A list is one value. */
function toRows(place: string, value: unknown): string[][] {
  if (value === null || value === undefined) return [[place, '-']];
  if (Array.isArray(value)) return [[place, value.join(', ') || '-']];
  if (typeof value === 'object')
    return Object.entries(value).flatMap(([field, inner]) => toRows(`${place}.${field}`, inner));
  return [[place, String(value)]];
}
