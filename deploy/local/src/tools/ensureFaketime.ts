import { existsSync } from 'node:fs';
import { installDebianPackages } from './installDebianPackages.ts';

/** Debian's names of the processors that Node has other names for. */
const MACHINES: Record<string, string> = { x64: 'x86_64', arm64: 'aarch64' };

/**
 * Path of the library that gives a process clocks of its own, for `LD_PRELOAD`. Installs it as root, else throws a `StackError` with
 * what to run.
 */
export async function ensureFaketime(say: (line: string) => void): Promise<string> {
  const library = `/usr/lib/${MACHINES[process.arch] ?? process.arch}-linux-gnu/faketime/libfaketimeMT.so.1`;
  if (!existsSync(library)) await installDebianPackages(['libfaketime'], 'libfaketime', say);
  return library;
}
