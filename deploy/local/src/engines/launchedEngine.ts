import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';

/** One process that serves models, or several as one does. */
export interface LaunchedEngine {
  name: string;
  /** A simulator has an engine, and so an address, for each model. */
  urls: string[];
  /** Where a simulator is told what to do. */
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
