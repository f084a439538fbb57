import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Region } from '@turnpike/config/region';
import { readServedModels } from '../readServedModels.ts';
import type { DiscoveredModel } from './discoverModels.ts';
import type { LaunchingEngines } from './launchedEngine.ts';
import { writeEnginesFile } from './launchedEngine.ts';
import type { PlannedEngine } from './planEngines.ts';
import { ASSUMED_CONTEXT_LENGTH, toEngineCatalog } from './toEngineCatalog.ts';

interface RealEnginesOptions {
  region: Region;
  engines: PlannedEngine[];
  /** Both are written. */
  catalogFile: string;
  enginesFile: string;
  /** Told what was found, and what was assumed. */
  say: (line: string) => void;
}

/** Lists the models of engines that run already in a catalog of their own. */
export function listRealEngines(options: RealEnginesOptions): LaunchingEngines {
  const engines = options.engines.map(({ url }, index) => ({ name: `engine-${index + 1}`, urls: [url], pid: null }));
  const list = async () => {
    await writeFiles(options);
    return (await readServedModels(options.catalogFile, options.region)).models;
  };
  return { ready: Promise.resolve(engines), listed: list() };
}

async function writeFiles({ region, engines, catalogFile, enginesFile, say }: RealEnginesOptions) {
  const today = new Date().toISOString().slice(0, 10);
  const { fileText, idOf } = toEngineCatalog(
    engines.flatMap(({ models }) => models),
    { region, today },
  );
  const toId = ({ servedName }: DiscoveredModel): string => idOf.get(servedName) ?? servedName;
  const entries = engines.flatMap(({ url, models: [first] }, index) =>
    first ? [{ id: `engine-${index + 1}/${toId(first)}`, url, model: toId(first) }] : [],
  );
  await writeFile(catalogFile, fileText);
  await writeEnginesFile(enginesFile, entries);
  for (const { url, models } of engines) {
    const texts = models.map((model) => `${toId(model)} (${toWindowText(model)})`);
    say(`${url} serves ${texts.join(', ')}.`);
  }
  say(`Prices are made up; ${basename(catalogFile)} in the stack's folder has them, written anew at every start.`);
}

function toWindowText({ contextLength }: DiscoveredModel): string {
  const tokens = (contextLength ?? ASSUMED_CONTEXT_LENGTH).toLocaleString('en-US');
  return contextLength === undefined ? `states no window, ${tokens} tokens are assumed` : `${tokens} tokens`;
}
