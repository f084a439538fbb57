import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Removes the folder of a server that was killed. What the server had forked, such as a rewrite of a log, may write into it for a moment more. */
export const removeServerFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });

/** Says in which folder the temporary folders of a test run are. */
export const RUN_FOLDER = 'TURNPIKE_TEST_FOLDER';

/** Makes the folder of a test run, which servers under another user may enter. */
export async function startRunFolder(): Promise<{ path: string; remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'turnpike-run-'));
  await chmod(path, 0o755);
  return { path, remove: () => removeServerFolder(path) };
}

/** An empty folder of its own, which goes with the test run. */
export const aTemporaryFolder = (): Promise<string> =>
  mkdtemp(join(process.env[RUN_FOLDER] ?? tmpdir(), 'turnpike-router-'));
