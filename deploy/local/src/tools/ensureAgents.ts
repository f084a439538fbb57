import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { runToEnd } from '../process/runToEnd.ts';
import { repositoryRoot } from '../repositoryRoot.ts';
import { StackError } from '../stackError.ts';

/** A first installation is some 1.2 GB: each agent is one large program. */
const INSTALL_TIMEOUT_MS = 600_000;
const LIST = join(repositoryRoot, 'test/clients/agents/agents.json');

/**
 * Returns the folder whose `node_modules` has the coding agents. They are installed once per machine and list of agents, into the user's
 * cache, and only where they are required. Throws a `StackError` that says so where they are not there.
 */
export async function ensureAgents(say: (line: string) => void, isRequired: boolean): Promise<string> {
  const hash = createHash('sha256')
    .update(await readFile(LIST))
    .digest('hex')
    .slice(0, 12);
  const folder = join(homedir(), '.cache', 'turnpike', `agents-${hash}`);
  if (existsSync(folder)) return folder;
  if (!isRequired)
    throw new StackError(
      'The coding agents are not installed. REQUIRE_AGENTS=1 gets them: some 1.2 GB, once per machine.',
    );

  say('Installing the coding agents from npm, once for this machine…');
  const partial = `${folder}.partial-${process.pid}`;
  try {
    await mkdir(partial, { recursive: true });
    await cp(LIST, join(partial, 'package.json'));
    await runToEnd('installing coding agents', {
      command: 'npm',
      args: ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', partial],
      env: process.env,
      timeoutMs: INSTALL_TIMEOUT_MS,
    });
    await rename(partial, folder);
  } catch (error) {
    await rm(partial, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    if (!existsSync(folder)) throw error; // unless another process has made it meanwhile
  }
  return folder;
}
