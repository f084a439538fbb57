import { writeFile } from 'node:fs/promises';
import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';

/** One process that serves models, or several as one does. */
export interface LaunchedEngine {
  name: string;
  /** A simulator has an engine, and so an address, for each model. */
  urls: string[];
  /** The admin address of a simulator. */
  adminUrl?: string;
  /** Null if it is not a process of the stack. */
  pid: number | null;
}

/** Engines during their start, in the two steps that other parts wait for. */
export interface LaunchingEngines {
  /** Resolves once the catalog file and the engines file are written. */
  listed: Promise<CatalogModel[]>;
  /** Resolves once all of them are healthy. */
  ready: Promise<LaunchedEngine[]>;
}

/** One engine in the router's engines file. */
export interface EngineEntry {
  /** The routing target, the `model` of a usage row. */
  id: string;
  url: string;
  /** Canonical id of its model, also for an engine that has never answered. */
  model: string;
}

/** Writes the router's engines file. */
export async function writeEnginesFile(file: string, engines: EngineEntry[]): Promise<void> {
  await writeFile(file, `${JSON.stringify({ engines }, null, 2)}\n`);
}
