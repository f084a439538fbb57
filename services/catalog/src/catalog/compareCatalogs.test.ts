import { expect, it } from '@jest/globals';
import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import { parse } from 'yaml';
import { catalogTextOf, catalogTextWith } from '../../test/catalogText.ts';
import { compareCatalogs, isLargeChange } from './compareCatalogs.ts';
import { parseCatalogFile } from './parseCatalogFile.ts';

function modelsOf(text: string): CatalogModel[] {
  const parsed = parseCatalogFile(parse(text), 'us');
  if (!('models' in parsed)) throw new Error(JSON.stringify(parsed.mistakes));
  return parsed.models;
}
const MODELS = modelsOf(catalogTextWith({}));
const withPrompt = (prompt: string) => modelsOf(catalogTextWith({ 12: `      prompt: "${prompt}"` }));

it('finds no difference between a catalog and itself', () => {
  expect(compareCatalogs(MODELS, modelsOf(catalogTextWith({})))).toEqual([]);
});

it('names a model that came, and one that went', () => {
  const more = modelsOf(catalogTextOf({ id: 'second' }));
  expect(compareCatalogs(MODELS, more)).toEqual([{ model: 'second', kind: 'added' }]);
  expect(compareCatalogs(more, MODELS)).toEqual([{ model: 'second', kind: 'removed' }]);
});

it.each([
  ['0.000001', '0.00001', 10, false],
  ['0.000001', '0.000011', 11, true],
  ['0.000001', '1', 1_000_000, true],
  ['0.000011', '0.000001', 1 / 11, true],
  ['0', '0.000001', Number.POSITIVE_INFINITY, true],
  ['0.000001', '0', 0, true],
])('gives the factor of a price, and doubts it beyond ten: from %s to %s', (from, to, factor, isLarge) => {
  const changes = compareCatalogs(withPrompt(from), withPrompt(to));
  expect(changes).toEqual([
    { model: 'small-chat', kind: 'changed', field: 'pricing.prompt', from, to, factor: expect.closeTo(factor) },
  ]);
  expect(changes.some(isLargeChange)).toBe(isLarge);
});
