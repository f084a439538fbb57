import { accessSync, constants } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { runToEnd } from '../process/runToEnd.ts';
import { StackError } from '../stackError.ts';

const INSTALL_TIMEOUT_MS = 600_000;
/** Debian runs this program before it starts a service; exit code 101 forbids the start. */
const POLICY_FILE = '/usr/sbin/policy-rc.d';

/**
 * Installs Debian packages as root, and keeps Debian from starting their services, because a public Redis must not run
 * on 6379. Throws a `StackError` with the command to run if it cannot install. `purpose` names the tool in messages.
 * `say` is called before the long installation.
 */
export async function installDebianPackages(
  packages: string[],
  purpose: string,
  say: (line: string) => void,
): Promise<void> {
  const command = `apt-get install -y ${packages.join(' ')}`;
  if (!hasCommand('apt-get')) {
    throw new StackError(`${purpose} is missing. Install it with this system's package manager (Debian: ${command}).`);
  }
  if (process.getuid?.() !== 0) throw new StackError(`${purpose} is missing. Install it with: sudo ${command}`);
  say(`Installing ${packages.join(', ')}…`);
  const hasOwnPolicy = await writeFile(POLICY_FILE, '#!/bin/sh\nexit 101\n', { mode: 0o755, flag: 'wx' }).then(
    () => true,
    () => false,
  );
  const settings = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }, timeoutMs: INSTALL_TIMEOUT_MS };
  try {
    // The package lists of a fresh machine are empty or old.
    await runToEnd('apt-get update', { command: 'apt-get', args: ['update'], ...settings });
    const args = ['install', '-y', '--no-install-recommends', ...packages];
    await runToEnd(command, { command: 'apt-get', args, ...settings });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StackError(`${purpose} is missing and could not be installed. ${reason}`, { cause: error });
  } finally {
    if (hasOwnPolicy) await rm(POLICY_FILE, { force: true });
  }
}

/**
 * Ensures that `ffmpeg` and its `ffprobe` are on this machine. Installs them as root, else throws a `StackError` with
 * the command to run.
 */
export async function ensureFfmpeg(say: (line: string) => void): Promise<void> {
  if (!hasCommand('ffmpeg') || !hasCommand('ffprobe')) await installDebianPackages(['ffmpeg'], 'ffmpeg', say);
}

/** Ensures that `promtool` is on this machine, like `ensureRedisServer`. Debian has it in the package of Prometheus. */
export async function ensurePromtool(say: (line: string) => void): Promise<void> {
  if (!hasCommand('promtool')) await installDebianPackages(['prometheus'], 'promtool', say);
}

/**
 * Ensures that `redis-server` is on this machine. Installs it as root, else throws a `StackError` with the command to
 * run.
 */
export async function ensureRedisServer(say: (line: string) => void): Promise<void> {
  if (!hasCommand('redis-server')) await installDebianPackages(['redis-server'], 'redis-server', say);
}

/** Returns whether a command is on the path of this process. */
export function hasCommand(name: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return folder !== '';
    } catch {
      return false;
    }
  });
}
