import { writeFile } from 'node:fs/promises';
import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';

/** One process that serves models, or several as one does. */
export interface LaunchedEngine {
  name: string;
  /** A simulator has an engine, and so an address, for each model. */
  urls: string[];
  /** The admin address of a simulator. */
  adminUrl?: string;
  /** Null where it is not a process of the stack. */
  pid: number | null;
}

/** Engines on their way up, in the two steps that others wait for. */
export interface LaunchingEngines {
  /** Resolves once the catalog file and the engines file say what there will be. */
  listed: Promise<CatalogModel[]>;
  /** Resolves once all of them are healthy. */
  ready: Promise<LaunchedEngine[]>;
}

/** One engine as the router is told of it. */
export interface EngineEntry {
  /** The routing target: what a usage row names as `model`. */
  id: string;
  url: string;
  /** Canonical id, by which the router knows what an engine is for that has never answered. */
  model: string;
}

/** Writes the file that tells the router of its engines. */
export async function writeEnginesFile(file: string, engines: EngineEntry[]): Promise<void> {
  await writeFile(file, `${JSON.stringify({ engines }, null, 2)}\n`);
}
