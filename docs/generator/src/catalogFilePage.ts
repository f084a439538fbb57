import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { formatRows } from './formatReference.ts';
import { replacePart } from './referencePages.ts';
import { repositoryRoot } from './repositoryRoot.ts';

export const CATALOG_FILE_PAGE = join(repositoryRoot, 'docs/catalog-file.md');

interface Field {
  description?: string;
  default?: unknown;
  enum?: unknown[];
  type?: string;
  items?: Field;
  properties?: Record<string, Field>;
  required?: string[];
}

/** The page with the fields of both files as their schemas have them now, and the rest as it is. */
export async function renderCatalogFilePage(page: string): Promise<string> {
  const catalog = await readSchema('services/catalog/src/catalog/catalogFile.ts', 'catalogFileSchema');
  const engines = await readSchema(
    'services/model-router/src/engines/discovery/engineEntries.ts',
    'engineEntriesSchema',
  );
  const withModels = replacePart(page, 'fields of a model', formatFields(itemOf(catalog, 'models')));
  return replacePart(withModels, 'fields of a target', formatFields(itemOf(engines, 'engines')));
}

async function readSchema(file: string, name: string): Promise<Field> {
  const { [name]: schema } = (await import(pathToFileURL(join(repositoryRoot, file)).href)) as Record<
    string,
    z.ZodType
  >;
  if (!schema) throw new Error(`${file} exports no ${name}`);
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Field;
}

function itemOf({ properties = {} }: Field, list: string): Field {
  const item = properties[list]?.items;
  if (!item) throw new Error(`the schema has no list ${list}`);
  return item;
}

const formatFields = (item: Field): string =>
  formatRows(['field', 'left out', 'values', 'meaning'], toRows(item, { place: '', isOptional: false }));

/** Returns a row for each field, those of an object under its own. Throws on a field that nothing explains. */
function toRows(
  { properties = {}, required = [] }: Field,
  { place, isOptional }: { place: string; isOptional: boolean },
): string[][] {
  return Object.entries(properties).flatMap(([name, field]) => {
    const path = `${place}${name}`;
    if (field.description === undefined) throw new Error(`no description says what ${path} does`);
    const isRequired = required.includes(name) && !isOptional;
    const row = [`\`${path}\``, toFallback(field, isRequired), toValues(field), field.description];
    return [row, ...toRows(field, { place: `${path}.`, isOptional: isOptional || !required.includes(name) })];
  });
}

function toFallback(field: Field, isRequired: boolean): string {
  if (isRequired) return '**required**';
  return field.default === undefined ? '-' : `\`${JSON.stringify(field.default)}\``;
}

function toValues({ enum: words, items, type }: Field): string {
  if (words) return words.map((word) => `\`${word}\``).join(', ');
  if (items) return `list of ${toValues(items)}`;
  return type ?? 'text';
}
