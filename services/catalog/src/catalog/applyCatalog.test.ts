import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { openPostgres, type TestDatabases } from '@turnpike/test-support/startPostgres';
import { aCatalogModel } from '../../test/aCatalogModel.ts';
import { openTestCatalog, type TestCatalog, WAIT_TIMEOUT_MS } from '../../test/openTestCatalog.ts';
import { createDb } from '../database/createDb.ts';
import { applyCatalog, findLastCatalog, listVersions } from './applyCatalog.ts';

let postgres: TestDatabases;
let catalog: TestCatalog;
beforeAll(async () => {
  postgres = await openPostgres();
});
afterAll(() => postgres.stop());
beforeEach(async () => {
  catalog = await openTestCatalog(postgres);
});
afterEach(() => catalog.close());

const apply = (...models: ReturnType<typeof aCatalogModel>[]) => applyCatalog(catalog.db, models, 'us');
const countVersions = () => catalog.db.catalogVersion.count();

it('starts with version 1, and with nothing before it', async () => {
  const model = aCatalogModel();
  expect(await findLastCatalog(catalog.db, 'us')).toBeUndefined();
  expect(await apply(model)).toEqual({ version: 1, region: 'us', models: [model] });
  expect(await findLastCatalog(catalog.db, 'us')).toEqual({ version: 1, region: 'us', models: [model] });
});

it('keeps the version while the content is the same', async () => {
  const model = aCatalogModel();
  await apply(model);
  expect((await apply(structuredClone(model))).version).toBe(1);
  expect(await countVersions()).toBe(1);
});

it('adds a version for every change, also for one back to an earlier content, and keeps the earlier prices', async () => {
  const cheap = aCatalogModel();
  const dear = { ...cheap, pricing: { ...cheap.pricing, prompt: '0.000001' } };
  const versions = [];
  for (const model of [cheap, dear, cheap]) versions.push((await apply(model)).version);

  expect(versions).toEqual([1, 2, 3]);
  const first = await catalog.db.catalogVersion.findUniqueOrThrow({ where: { version: 1 } });
  expect(first.models).toEqual([cheap]);
});

it('lists versions, the newest first, each with what it changed of the one before', async () => {
  const first = aCatalogModel({ id: 'first' });
  const dearer = { ...first, pricing: { ...first.pricing, prompt: '0.123' } };
  const second = aCatalogModel({ id: 'second' });
  for (const models of [[first], [dearer, second], [second]]) await apply(...models);

  const all = await listVersions(catalog.db, { before: 1_000, limit: 20 });
  const { prompt: price } = first.pricing;
  expect(all).toMatchObject({
    isLast: true,
    versions: [
      { version: 3, appliedAt: expect.any(Date), models: 1, changes: [{ model: 'first', kind: 'removed' }] },
      {
        version: 2,
        models: 2,
        changes: [
          { model: 'first', kind: 'changed', field: 'pricing.prompt', from: price, to: '0.123' },
          { model: 'second', kind: 'added' },
        ],
      },
      { version: 1, models: 1, changes: [{ model: 'first', kind: 'added' }] },
    ],
  });

  const page = await listVersions(catalog.db, { before: 3, limit: 1 });
  expect(page).toEqual({ isLast: false, versions: [all.versions[1]] });
});

it('adds one version when many replicas apply the same change at once', async () => {
  const replicas = Array.from({ length: 6 }, () => createDb(catalog.databaseUrl, WAIT_TIMEOUT_MS));
  const model = aCatalogModel();
  const applied = await Promise.all(replicas.map((db) => applyCatalog(db, [model], 'us')));
  await Promise.all(replicas.map((db) => db.$disconnect()));

  expect(applied.map(({ version }) => version)).toEqual(replicas.map(() => 1));
  expect(await countVersions()).toBe(1);
});

it('numbers different changes that come at once without a gap', async () => {
  const models = ['a', 'b', 'c'].map((id) => aCatalogModel({ id }));
  const applied = await Promise.all(models.map((model) => apply(model)));
  expect(applied.map(({ version }) => version).sort()).toEqual([1, 2, 3]);
});

it.each([
  ['changed', `UPDATE catalog_version SET models = '[]'`],
  ['removed', 'DELETE FROM catalog_version'],
  ['removed with all others', 'TRUNCATE catalog_version'],
])('a version cannot be %s', async (_how, sql) => {
  const model = aCatalogModel();
  await apply(model);
  await expect(catalog.db.$executeRawUnsafe(sql)).rejects.toThrow('a catalog version is never changed or removed');
  expect(await findLastCatalog(catalog.db, 'us')).toEqual({ version: 1, region: 'us', models: [model] });
});
