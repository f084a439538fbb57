import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runToEnd } from '../process/runToEnd.ts';
import { repositoryRoot } from '../repositoryRoot.ts';
import { StackError } from '../stackError.ts';
import { makeOnce, toShortHash } from './makeOnce.ts';

/** A first installation is some 1.2 GB: each agent is one large program. */
const INSTALL_TIMEOUT_MS = 600_000;
const LIST = join(repositoryRoot, 'test/clients/agents/agents.json');

/**
 * Returns the folder whose `node_modules` has the coding agents. They are installed once per machine and list of
 * agents, into the user's cache, and only if required. Throws a `StackError` if they are not there.
 */
export async function ensureAgents(say: (line: string) => void, isRequired: boolean): Promise<string> {
  return makeOnce(`agents-${toShortHash(await readFile(LIST))}`, async (folder) => {
    if (!isRequired)
      throw new StackError(
        'The coding agents are not installed. REQUIRE_AGENTS=1 gets them: some 1.2 GB, once per machine.',
      );
    say('Installing the coding agents from npm, once for this machine…');
    await cp(LIST, join(folder, 'package.json'));
    await runToEnd('installing coding agents', {
      command: 'npm',
      args: ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', folder],
      env: process.env,
      timeoutMs: INSTALL_TIMEOUT_MS,
    });
  });
}
