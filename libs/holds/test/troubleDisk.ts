import { type FileHandle, open } from 'node:fs/promises';

type Operation = 'appendFile' | 'datasync';
type Methods = Record<Operation, (this: FileHandle, ...args: unknown[]) => Promise<unknown>>;

/** Trouble of all files of this process: writes and flushes that hang or fail. */
export interface DiskTrouble {
  /** Those that hang until `recover`, and then do what they were to do. */
  readonly hanging: Set<Operation>;
  readonly failing: Set<Operation>;
  /** Operations that hang now. */
  readonly held: number;
  recover(): void;
  /** Recovers, and leaves file handles as they were. */
  restore(): void;
}

export async function troubleDisk(dir: string): Promise<DiskTrouble> {
  const handle = await open(dir, 'r');
  const prototype = Object.getPrototypeOf(handle) as Methods;
  await handle.close();
  const { appendFile, datasync } = prototype;
  const whole: Methods = { appendFile, datasync };
  const [hanging, failing] = [new Set<Operation>(), new Set<Operation>()];
  let held: (() => void)[] = [];
  for (const name of ['appendFile', 'datasync'] as const)
    prototype[name] = async function troubled(this: FileHandle, ...args: unknown[]): Promise<unknown> {
      if (hanging.has(name)) await new Promise<void>((resolve) => held.push(resolve));
      if (failing.has(name)) throw new Error('EIO');
      return whole[name].apply(this, args);
    };
  const recover = (): void => {
    hanging.clear();
    const all = held;
    held = [];
    for (const resolve of all) resolve();
  };
  return {
    hanging,
    failing,
    get held() {
      return held.length;
    },
    recover,
    restore() {
      failing.clear();
      recover();
      Object.assign(prototype, whole);
    },
  };
}
