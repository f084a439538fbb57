import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { REGIONS } from '@turnpike/config/region';
import { catalogSnapshotSchema } from '@turnpike/internal-api/catalogSnapshot';
import { parsePrice } from '@turnpike/money/price';
import { readCatalogFile } from './readCatalogFile.ts';

describe.each(REGIONS)('the catalog of region %s that we deploy', (region) => {
  const read = () =>
    readCatalogFile(
      fileURLToPath(new URL(`../../../../deploy/catalog/${region}/catalog.yaml`, import.meta.url)),
      region,
    );

  it('is a snapshot that the router takes', async () => {
    const models = await read();
    expect(models).not.toHaveLength(0);
    expect(catalogSnapshotSchema.parse({ version: 1, region, models }).models).toEqual(models);
  });

  it('has only prices that can be read, and none that makes a cached token dearer than a fresh one', async () => {
    for (const { pricing } of await read()) {
      for (const price of Object.values(pricing)) expect(parsePrice(price)).toBeGreaterThanOrEqual(0n);
      expect(parsePrice(pricing.input_cache_read)).toBeLessThanOrEqual(parsePrice(pricing.prompt));
    }
  });

  it('has a price for every model, of tokens or of a unit', async () => {
    const models = await read();
    for (const { media } of models) if (media) expect(parsePrice(media.unitPrice ?? '')).toBeGreaterThan(0n);
    const categories = models.flatMap(({ category, media }) => (media ? [category] : []));
    expect(new Set(categories)).toEqual(new Set(['image', 'audio', 'video']));
  });

  it('gives every name to one model only', async () => {
    const names = (await read()).flatMap(({ id, aliases }) => [id, ...aliases]);
    expect(new Set(names).size).toBe(names.length);
  });

  it('never offers more output than the window holds', async () => {
    for (const { maxOutputLength, contextLength } of await read())
      expect(maxOutputLength).toBeLessThanOrEqual(contextLength);
  });
});
