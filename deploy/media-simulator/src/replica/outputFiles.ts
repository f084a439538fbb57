import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Knobs } from '../knobs.ts';
import { EngineError } from '../wire/engineError.ts';

/** The folder of what a replica has rendered. It outlives the process. */
export class OutputFiles {
  readonly #folder: string;
  readonly #knobs: () => Knobs;

  constructor(folder: string, knobs: () => Knobs) {
    this.#folder = folder;
    this.#knobs = knobs;
    mkdirSync(folder, { recursive: true });
  }

  /** Rejects as a full disk does where it does not fit. */
  async save(name: string, bytes: Buffer): Promise<void> {
    const { diskBytes } = this.#knobs();
    if (diskBytes !== null && this.#taken() + bytes.length > diskBytes) {
      throw new EngineError(500, `[Errno 28] No space left on device: 'outputs/${name}'`);
    }
    await writeFile(join(this.#folder, name), bytes);
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

  #taken(): number {
    return this.list().reduce((sum, file) => sum + file.bytes, 0);
  }

  list(): { name: string; bytes: number }[] {
    return readdirSync(this.#folder).map((name) => ({ name, bytes: statSync(join(this.#folder, name)).size }));
  }
}
