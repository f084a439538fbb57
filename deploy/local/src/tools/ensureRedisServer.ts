import { hasCommand } from './hasCommand.ts';
import { installDebianPackages } from './installDebianPackages.ts';

/** Makes sure that `redis-server` is on this machine: installs it as root, else throws a `StackError` with what to run. */
export async function ensureRedisServer(say: (line: string) => void): Promise<void> {
  if (!hasCommand('redis-server')) await installDebianPackages(['redis-server'], 'redis-server', say);
}
