import { join } from 'node:path';
import type { MediaBackend } from '../media/mediaBackends.ts';
import type { Part, Parts } from '../process/startParts.ts';
import { repositoryRoot } from '../repositoryRoot.ts';
import { isHealthy } from './startSimulator.ts';

const PROGRAM = join(repositoryRoot, 'deploy/local/src/media/simulateMedia.ts');

/** Starts the process of all simulated media backends, and resolves when each is healthy. */
export async function startMediaSimulators(parts: Parts, backends: MediaBackend[]): Promise<Part> {
  const part = parts.start({
    name: 'media-simulators',
    layer: 0,
    command: process.execPath,
    args: [PROGRAM],
    env: { BACKENDS: JSON.stringify(backends) },
    stopSignal: 'SIGTERM',
    hasChannel: true,
  });
  const areHealthy = async () => (await Promise.all(backends.map(({ port }) => isHealthy(port)))).every(Boolean);
  await parts.untilReady(part, areHealthy);
  return part;
}
