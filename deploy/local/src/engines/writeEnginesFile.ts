import { writeFile } from 'node:fs/promises';

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
