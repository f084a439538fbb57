import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Removes the folder of a server that was killed. What the server had forked, such as a rewrite of a log, may write into it for a moment more. */
export const removeServerFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });

/** An empty folder of its own. */
export const aTemporaryFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'turnpike-router-'));
