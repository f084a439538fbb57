import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { readCatalogFile } from '@turnpike/catalog/readCatalogFile';
import type { DiscoveredModel } from './discoverModels.ts';
import { toEngineCatalog } from './toEngineCatalog.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnpike-engine-catalog-'));
});
afterEach(() => rm(folder, { recursive: true }));

const aModel = (model: Partial<DiscoveredModel>): DiscoveredModel => ({
  servedName: 'org/Model-A',
  contextLength: 4_096,
  category: 'text',
  features: [],
  ...model,
});

/** Reads the file like the catalog service. */
async function read(...models: DiscoveredModel[]) {
  const file = join(folder, 'catalog.json');
  await writeFile(file, toEngineCatalog(models, { region: 'us', today: '2026-02-03' }).fileText);
  return readCatalogFile(file, 'us');
}

it('is a catalog in which a model is found by its id and by the name that its engine knows', async () => {
  expect(await read(aModel({ features: ['json_mode'] }))).toEqual([
    expect.objectContaining({
      id: 'model-a',
      huggingFaceId: 'org/Model-A',
      aliases: ['org/Model-A'],
      category: 'text',
      contextLength: 4_096,
      supportedFeatures: ['json_mode'],
      state: 'live',
    }),
  ]);
});

it('lists a model that embeds as one', async () => {
  expect(await read(aModel({ category: 'embeddings' }))).toMatchObject([
    { category: 'embeddings', outputModalities: ['embeddings'], maxOutputLength: 1, supportedSamplingParameters: [] },
  ]);
});

it('charges something for every token, so that money can be seen to move', async () => {
  const [model] = await read(aModel({}));

  expect(Object.entries(model?.pricing ?? {}).filter(([, price]) => price !== '0')).toEqual([
    ['prompt', '0.0000001'],
    ['completion', '0.0000004'],
    ['input_cache_read', '0.000000025'],
  ]);
});

it('takes 8,192 tokens as the window of a model whose engine states none', async () => {
  expect(await read(aModel({ contextLength: undefined }))).toMatchObject([{ contextLength: 8_192 }]);
});

it('lists a model of several engines once, as the smallest of them serves it', async () => {
  const models = await read(
    aModel({ contextLength: 32_768, features: ['json_mode', 'json_schema'] }),
    aModel({ contextLength: 4_096, features: ['json_mode'] }),
  );

  expect(models).toMatchObject([{ id: 'model-a', contextLength: 4_096, supportedFeatures: ['json_mode'] }]);
});

it('lists tools and images where every engine of the model has them', async () => {
  const able = aModel({ category: 'multimodal', features: ['tools'] });
  expect(await read(able, able)).toMatchObject([
    { category: 'multimodal', inputModalities: ['text', 'image'], supportedFeatures: ['tools'] },
  ]);
  expect(await read(able, aModel({}))).toMatchObject([
    { category: 'text', inputModalities: ['text'], supportedFeatures: [] },
  ]);
});

it('is a good catalog whatever the engines call their models', async () => {
  const names = ['a', 'A', 'x/A', 'x/a', '模型', `${'n'.repeat(200)}/B`, 'b', '"quoted"', 'c:latest', '1'.repeat(96)];
  const models = await read(...names.map((servedName) => aModel({ servedName })));

  expect(models.map(({ huggingFaceId }) => huggingFaceId)).toEqual(names);
});

it('leaves room for a prompt in the smallest window there is', async () => {
  expect(await read(aModel({ contextLength: 1 }))).toMatchObject([{ contextLength: 1, maxOutputLength: 1 }]);
});
