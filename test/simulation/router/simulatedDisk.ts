import type { World } from '../world/world.ts';

interface StoredFile {
  bytes: Buffer;
  /** So many are on the platter. */
  safeBytes: number;
}

const HUNG_POLL_MS = 50;
const FULL = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });

/**
 * A router's disk. A killed process loses nothing that was written. A killed machine loses unflushed data
 * from some byte on, and finds files again whose removal was not flushed.
 */
export class SimulatedDisk {
  readonly #world: World;
  #files = new Map<string, StoredFile>();
  #removed = new Map<string, StoredFile>();
  isFull = false;
  /** No operation ends before this is over. */
  isHung = false;
  /** Longest an operation takes, ms. */
  slownessMs = 1;

  constructor(world: World) {
    this.#world = world;
  }

  async #afterAWhile(): Promise<void> {
    await this.#world.sleep(this.#world.random.share() * this.slownessMs);
    while (this.isHung) await this.#world.sleep(HUNG_POLL_MS);
  }

  async list(): Promise<string[]> {
    await this.#afterAWhile();
    return [...this.#files.keys()];
  }

  async stat(name: string): Promise<{ size: number }> {
    return { size: this.#get(name).bytes.length };
  }

  async unlink(name: string): Promise<void> {
    await this.#afterAWhile();
    this.#removed.set(name, this.#get(name));
    this.#files.delete(name);
  }

  openFolder(): object {
    return { sync: async () => this.#removed.clear(), close: async () => {} };
  }

  async open(name: string, flags: string): Promise<object> {
    await this.#afterAWhile();
    if (flags === 'ax') {
      if (this.isFull) throw FULL;
      if (this.#files.has(name)) throw Object.assign(new Error('file exists'), { code: 'EEXIST' });
      this.#files.set(name, { bytes: Buffer.alloc(0), safeBytes: 0 });
    }
    const file = this.#get(name);
    return {
      appendFile: (bytes: Buffer) => this.#append(file, bytes),
      stat: async () => ({ size: file.bytes.length }),
      datasync: async () => {
        const length = file.bytes.length;
        await this.#afterAWhile();
        file.safeBytes = Math.max(file.safeBytes, length);
      },
      read: async (into: Buffer, at: number, length: number, position: number) => {
        const bytesRead = file.bytes.copy(into, at, position, Math.min(position + length, file.bytes.length));
        return { buffer: into, bytesRead };
      },
      close: async () => {},
    };
  }

  async #append(file: StoredFile, bytes: Buffer): Promise<void> {
    await this.#afterAWhile();
    const taken = this.isFull ? this.#world.random.between(0, bytes.length - 1) : bytes.length;
    file.bytes = Buffer.concat([file.bytes, bytes.subarray(0, taken)]);
    if (taken < bytes.length) throw FULL;
  }

  #get(name: string): StoredFile {
    const file = this.#files.get(name);
    if (!file) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
    return file;
  }

  /** The machine loses its power. */
  losePower(): void {
    const { random } = this.#world;
    for (const [name, file] of this.#removed) if (random.chance(0.5)) this.#files.set(name, file);
    this.#removed.clear();
    for (const file of this.#files.values()) {
      file.bytes = file.bytes.subarray(0, random.between(file.safeBytes, file.bytes.length));
      file.safeBytes = file.bytes.length;
    }
  }

  /** The disk itself is gone, and another one is in its place. */
  replace(): void {
    this.#files = new Map();
    this.#removed = new Map();
  }
}
