import { readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { readCatalogEntries } from '@turnpike/catalog/readCatalogFile';
import type { Region } from '@turnpike/config/region';
import { readServedModels } from '../readServedModels.ts';
import type { DiscoveredModel } from './discoverModels.ts';
import type { LaunchingEngines } from './launchedEngine.ts';
import { writeEnginesFile } from './launchedEngine.ts';
import type { EnginePlan, PlannedEngine } from './planEngines.ts';
import { ASSUMED_CONTEXT_LENGTH, toEngineCatalog } from './toEngineCatalog.ts';

interface RealEnginesOptions {
  region: Region;
  plan: EnginePlan & { kind: 'real' };
  /** Both files are written, except a catalog file that was edited. */
  catalogFile: string;
  enginesFile: string;
  /** Receives lines about findings and assumptions. */
  say: (line: string) => void;
}

/** Lists the models of running engines in a catalog of their own. */
export function listRealEngines(options: RealEnginesOptions): LaunchingEngines {
  const { engines: planned } = options.plan;
  const engines = planned.map(({ url }, index) => ({ name: `engine-${index + 1}`, urls: [url], pid: null }));
  const list = async () => {
    await writeFiles(options);
    return (await readServedModels(options.catalogFile, options.region)).models;
  };
  return { ready: Promise.resolve(engines), listed: list() };
}

async function writeFiles({ region, plan, catalogFile, enginesFile, say }: RealEnginesOptions) {
  const { engines, mediaModels, mediaCatalogFile } = plan;
  const today = new Date().toISOString().slice(0, 10);
  const media = new Set(mediaModels.map(({ id }) => id));
  const others = mediaCatalogFile === undefined ? [] : await readCatalogEntries(mediaCatalogFile);
  const { fileText, idOf } = toEngineCatalog(
    engines.flatMap(({ models }) => models),
    { region, today, others: others.filter(({ id }) => media.has(id)) },
  );
  const toId = ({ servedName }: DiscoveredModel): string => idOf.get(servedName) ?? servedName;
  const entries = engines.flatMap(({ url, models: [first] }, index) =>
    first ? [{ id: `engine-${index + 1}/${toId(first)}`, url, model: toId(first) }] : [],
  );
  const isKept = await keepEdited(catalogFile, fileText);
  await writeEnginesFile(enginesFile, entries);
  for (const engine of engines) {
    const texts = engine.models.map((model) => `${toId(model)} (${toFactsText(model)})`);
    say(`${engine.url} serves ${texts.join(', ')}.`);
    sayWhatIsNotListed(engine, say);
  }
  const file = `${basename(catalogFile)} in the stack's folder`;
  say(
    isKept
      ? `${file} was edited, so it is kept as it is; without it, it is written anew.`
      : `Prices are made up; ${file} has them. It is written anew at every start until it is edited.`,
  );
}

/** Prints how to list abilities that an engine did not show. */
function sayWhatIsNotListed({ url, models, wasAsked }: PlannedEngine, say: RealEnginesOptions['say']): void {
  const chats = models.filter(({ category }) => category !== 'embeddings');
  const missing = [
    ...(chats.some(({ features }) => !features.includes('tools')) ? ['tools'] : []),
    ...(chats.some(({ category }) => category !== 'multimodal') ? ['images'] : []),
  ];
  if (missing.length === 0) return;
  const why = wasAsked ? 'It showed no' : 'It was not asked for';
  say(`  ${why} ${missing.join(' and ')}. If it has them: --engine ${[url, ...missing].join(',')}`);
}

/**
 * Writes the file unless it was edited since the last write. Returns whether it was kept. A copy of the written file
 * shows edits.
 */
async function keepEdited(file: string, text: string): Promise<boolean> {
  const copy = `${file}.written`;
  const read = (path: string) => readFile(path, 'utf8').catch(() => undefined);
  const [now, written] = await Promise.all([read(file), read(copy)]);
  if (now !== undefined && written !== undefined && now !== written) return true;
  await writeFile(file, text);
  await writeFile(copy, text);
  return false;
}

function toFactsText({ contextLength, category, features }: DiscoveredModel): string {
  const tokens = (contextLength ?? ASSUMED_CONTEXT_LENGTH).toLocaleString('en-US');
  const window = contextLength === undefined ? `states no window, ${tokens} tokens are assumed` : `${tokens} tokens`;
  const abilities = [
    ...(features.includes('tools') ? ['tools'] : []),
    ...(category === 'multimodal' ? ['images'] : []),
    ...(features.includes('json_schema') ? ['JSON schemas'] : []),
  ];
  return [window, ...abilities].join('; ');
}
