import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { StackError } from '@turnpike/local-stack/stackError';

const run = promisify(execFile);
const RELEASES = join(repositoryRoot, '.turnpike', 'releases');

/**
 * The code of a commit or tag, with its own dependencies, in a folder of its own that stays for the next time. Throws a `StackError`
 * where there is no such commit here.
 */
export async function checkOutRelease(ref: string): Promise<string> {
  const commit = await readCommit(ref);
  const root = join(RELEASES, commit.slice(0, 12));
  if (!existsSync(root)) {
    process.stdout.write(`checking out ${ref} (${commit.slice(0, 12)})\n`);
    const partial = `${root}.partial`;
    await rm(partial, { recursive: true, force: true });
    await mkdir(partial, { recursive: true });
    const archive = `${partial}.tar`;
    await run('git', ['archive', '--output', archive, commit], { cwd: repositoryRoot });
    await run('tar', ['--extract', '--file', archive, '--directory', partial]);
    await rm(archive);
    await rename(partial, root);
  }
  process.stdout.write('installing what it needs\n');
  // Its own set-up, with nothing to do afterwards.
  await run('node', [join(root, 'deploy/local/bootstrap.mjs'), '--eval', ''], { cwd: root });
  return root;
}

async function readCommit(ref: string): Promise<string> {
  try {
    const { stdout } = await run('git', ['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`], {
      cwd: repositoryRoot,
    });
    return stdout.trim();
  } catch (error) {
    throw new StackError(`--from is "${ref}", but git has no such commit or tag here.`, { cause: error });
  }
}
