import { rename, rm } from 'node:fs/promises';

/**
 * Makes room for the logs of a run: those of the run before move to `<logDir>-before`, where nothing older is kept. Who asks
 * why a stack ended may well have started it again.
 */
export async function setLogsAside(logDir: string): Promise<void> {
  const before = `${logDir}-before`;
  await rm(before, { recursive: true, force: true });
  try {
    await rename(logDir, before);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
