import { rm } from 'node:fs/promises';

/** Removes the folder of a server that was killed. What the server had forked, such as a rewrite of a log, may write into it for a moment more. */
export const removeServerFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
