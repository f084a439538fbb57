import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The folder of what a replica has rendered. It outlives the process. */
export class OutputFiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  save(name: string, bytes: Buffer): Promise<void> {
    return writeFile(join(this.#folder, name), bytes);
  }

  /** Undefined where there is none. */
  read(name: string): Promise<Buffer | undefined> {
    return readFile(join(this.#folder, name)).catch(() => undefined);
  }

  remove(name: string): void {
    rmSync(join(this.#folder, name), { force: true });
  }

  removeAll(): void {
    for (const { name } of this.list()) this.remove(name);
  }

  list(): { name: string; bytes: number }[] {
    return readdirSync(this.#folder).map((name) => ({ name, bytes: statSync(join(this.#folder, name)).size }));
  }
}
