import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readOutput } from '../readOutput.ts';
import { copyApp } from './copyApp.ts';

/** The one that `deploy/local/bootstrap.mjs` installs with. */
export const PNPM = 'pnpm@12.21.0';

let pnpm: Promise<string> | undefined;
/** Asked for once: npx takes seconds to say where it is. */
const findPnpm = (): Promise<string> => {
  pnpm ??= readOutput('npx', ['--yes', '--package', PNPM, '-c', 'command -v pnpm']).then((path) => path.trim());
  return pnpm;
};

/**
 * Writes a package of the workspace and what it needs in production below `folder`, compiled, as the lockfile has it. Needs no
 * network where the workspace is installed.
 */
export async function deployApp(packageName: string, folder: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'turnpike-deploy-'));
  try {
    // Flat, so that no path in the image depends on where the repository lies.
    const settings = ['--config.inject-workspace-packages=true', '--config.node-linker=hoisted'];
    const args = ['--filter', packageName, 'deploy', '--prod', '--offline', ...settings, join(work, 'app')];
    await readOutput(await findPnpm(), args);
    await copyApp(join(work, 'app'), folder);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
