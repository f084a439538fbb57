import { hasCommand } from './hasCommand.ts';
import { installDebianPackages } from './installDebianPackages.ts';

/** Makes sure that `promtool` is on this machine, as `ensureRedisServer` does. Debian has it in the package of Prometheus. */
export async function ensurePromtool(say: (line: string) => void): Promise<void> {
  if (!hasCommand('promtool')) await installDebianPackages(['prometheus'], 'promtool', say);
}
