import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { readCatalogFile } from '@turnpike/catalog/readCatalogFile';
import { listRealEngines } from '../src/engines/listRealEngines.ts';
import { planEngines } from '../src/engines/planEngines.ts';
import { aModelList, answering, type FakeEngine, startFakeEngine } from './fakeEngine.ts';

let folder: string;
let engine: FakeEngine;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnpike-real-engines-'));
  engine = await startFakeEngine(answering({ models: aModelList({ id: 'm', max_model_len: 4_096 }) }));
});
afterEach(async () => {
  await engine.close();
  await rm(folder, { recursive: true });
});

const catalogFile = () => join(folder, 'engine-catalog.json');

/** Starts once with an engine, and returns what was said. */
async function list(words = { tools: false, images: false }): Promise<string> {
  const engines = [{ url: engine.url, can: words, contextLength: undefined }];
  const plan = await planEngines({ region: 'us', engines, catalogFile: undefined, signal: undefined });
  if (plan.kind !== 'real') throw new Error('The plan is of simulated engines.');
  const lines: string[] = [];
  const enginesFile = join(folder, 'engines.json');
  const say = (line: string) => lines.push(line);
  await listRealEngines({ region: 'us', plan, catalogFile: catalogFile(), enginesFile, say }).listed;
  return lines.join('\n');
}

it('says how to list what an engine did not show', async () => {
  expect(await list()).toContain(`It showed no tools and images. If it has them: --engine ${engine.url},tools,images`);
  expect(await list({ tools: true, images: true })).not.toContain('--engine');
});

it('has the media models of the repository beside the engine’s own', async () => {
  await list();
  const models = await readCatalogFile(catalogFile(), 'us');
  expect(models.map(({ id }) => id)).toEqual(expect.arrayContaining(['m', 'flux.1-schnell', 'whisper-large-v3']));
});

it('keeps a catalog file that was edited, says so, and writes one anew that was not or is gone', async () => {
  await list();
  await list({ tools: true, images: false });
  const written = await readFile(catalogFile(), 'utf8');
  expect(await readCatalogFile(catalogFile(), 'us')).toContainEqual(
    expect.objectContaining({ id: 'm', supportedFeatures: ['tools'] }),
  );
  const edited = written.replace('"prompt": "0.0000001"', '"prompt": "0.0000002"');
  expect(edited).not.toBe(written);
  await writeFile(catalogFile(), edited);
  expect(await list()).toContain("engine-catalog.json in the stack's folder was edited, so it is kept as it is");
  expect(await readFile(catalogFile(), 'utf8')).toBe(edited);
  await rm(catalogFile());
  expect(await list()).toContain('Prices are made up');
  expect(await readFile(catalogFile(), 'utf8')).not.toBe(edited);
});
