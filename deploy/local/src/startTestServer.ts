import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Parts, startParts, toPartEndText } from './process/startParts.ts';
import { toPartEnvironment } from './toPartEnvironment.ts';

/** A server that a test run started. */
export interface Stoppable {
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

/** Starts one real server for tests, with its data in a temporary folder. Nothing is left where that fails. */
export async function startTestServer<Server>(
  name: string,
  say: (line: string) => void,
  start: (parts: Parts, dataDir: string) => Promise<Server>,
): Promise<Server & Stoppable> {
  const folder = await mkdtemp(join(tmpdir(), `turnpike-${name}-`));
  const parts = startParts({
    logDir: folder,
    env: toPartEnvironment(),
    onUnexpectedEnd: (end) => say(toPartEndText(end)),
  });
  const stop = async () => {
    await parts.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    return { ...(await start(parts, join(folder, 'data'))), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
