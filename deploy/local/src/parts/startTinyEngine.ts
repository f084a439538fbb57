import { join } from 'node:path';
import type { Part, Parts } from '../process/startParts.ts';
import { repositoryRoot } from '../repositoryRoot.ts';
import { isHealthy } from './isHealthy.ts';

const PROGRAM = join(repositoryRoot, 'deploy/tiny-engine/src/main.ts');
const READY_TIMEOUT_MS = 30_000;

export interface TinyEngineOptions {
  parts: Parts;
  name: string;
  port: number;
  /** Folder of its model file. */
  stateDir: string;
}

/** Starts a real engine with a model of random weights, and resolves when it is healthy. */
export async function startTinyEngine({ parts, name, port, stateDir }: TinyEngineOptions): Promise<Part> {
  const part = parts.start({
    name,
    layer: 0,
    command: process.execPath,
    args: [PROGRAM],
    env: { LISTEN_HOST: '127.0.0.1', PORT: String(port), STATE_DIR: stateDir },
    stopSignal: 'SIGTERM',
    hasChannel: true,
  });
  await parts.untilReady(part, () => isHealthy(port), READY_TIMEOUT_MS);
  return part;
}
