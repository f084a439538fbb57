import type { LoraModule } from '../config.ts';

const MAX_ADAPTERS = 1_000;

/** The adapters of one engine by name, those it was started with first. They go with the process. */
export class LoraAdapters {
  readonly #initial: readonly LoraModule[];
  #paths = new Map<string, string>();

  constructor(initial: readonly LoraModule[]) {
    this.#initial = initial;
    this.reset();
  }

  has(name: string): boolean {
    return this.#paths.has(name);
  }

  list(): LoraModule[] {
    return [...this.#paths].map(([name, path]) => ({ name, path }));
  }

  /** False when a thousand adapters are loaded already. */
  load({ name, path }: LoraModule): boolean {
    if (!this.has(name) && this.#paths.size >= MAX_ADAPTERS) return false;
    this.#paths.set(name, path);
    return true;
  }

  /** False when there is none of that name. */
  unload(name: string): boolean {
    return this.#paths.delete(name);
  }

  /** As after a start of the process. */
  reset(): void {
    this.#paths = new Map(this.#initial.map(({ name, path }) => [name, path]));
  }
}
