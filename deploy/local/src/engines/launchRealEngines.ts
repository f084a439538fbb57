import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { startTinyEngine } from '../parts/startTinyEngine.ts';
import type { Parts } from '../process/startParts.ts';
import { readServedModels } from '../readServedModels.ts';
import { type DiscoveredModel, discoverModels } from './discoverModels.ts';
import type { LaunchedEngine, LaunchingEngines } from './launchedEngine.ts';
import type { PlannedEngine } from './planEngines.ts';
import { ASSUMED_CONTEXT_LENGTH, toEngineCatalog } from './toEngineCatalog.ts';
import { writeEnginesFile } from './writeEnginesFile.ts';

/** What the tiny engine can do beyond what it says of itself. */
const TINY_FEATURES = ['json_mode', 'json_schema'];

export interface RealEnginesOptions {
  parts: Parts;
  engines: PlannedEngine[];
  /** One for each tiny engine. */
  tinyPorts: number[];
  /** Folder of what tiny engines keep. */
  tinyStateDir: string;
  /** Both are written. */
  catalogFile: string;
  enginesFile: string;
  /** Told what was found, and what was assumed. */
  say: (line: string) => void;
}

interface ServingEngine {
  launched: LaunchedEngine;
  url: string;
  models: DiscoveredModel[];
}

/** Starts the tiny engines and lists every engine's models in a catalog of their own. */
export function launchRealEngines(options: RealEnginesOptions): LaunchingEngines {
  const serving = serveAll(options);
  return {
    ready: serving.then((engines) => engines.map(({ launched }) => launched)),
    listed: serving.then(async (engines) => {
      await writeFiles(engines, options);
      return (await readServedModels(options.catalogFile, 'us')).models;
    }),
  };
}

function serveAll({ parts, engines, tinyPorts, tinyStateDir }: RealEnginesOptions): Promise<ServingEngine[]> {
  const ports = [...tinyPorts];
  return Promise.all(
    engines.map(async (engine, index): Promise<ServingEngine> => {
      const name = `engine-${index + 1}`;
      if (engine.kind === 'running') return { ...engine, launched: { name, urls: [engine.url], pid: null } };
      const port = ports.shift() ?? 0;
      const url = `http://127.0.0.1:${port}`;
      const part = await startTinyEngine({ parts, name: `tiny-${name}`, port, stateDir: tinyStateDir });
      const models = (await discoverModels(url)).map((model) => ({ ...model, features: TINY_FEATURES }));
      return { url, models, launched: { name: part.name, urls: [url], pid: part.pid } };
    }),
  );
}

async function writeFiles(engines: ServingEngine[], { catalogFile, enginesFile, say }: RealEnginesOptions) {
  const today = new Date().toISOString().slice(0, 10);
  const { fileText, idOf } = toEngineCatalog(
    engines.flatMap(({ models }) => models),
    today,
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
