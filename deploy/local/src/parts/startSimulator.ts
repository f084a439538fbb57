import { join } from 'node:path';
import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import { request } from 'undici';
import { toSimulatedEngine } from '../engines/toSimulatedEngine.ts';
import type { Part, Parts } from '../process/startParts.ts';
import { repositoryRoot } from '../repositoryRoot.ts';

const PROGRAM = join(repositoryRoot, 'deploy/engine-simulator/src/main.ts');
export interface SimulatorOptions {
  parts: Parts;
  name: string;
  models: CatalogModel[];
  /** One for each model. */
  ports: number[];
  adminPort: number;
}

/** Starts a simulator process that hosts one engine of every model, and resolves when all of them are healthy. */
export async function startSimulator({ parts, name, models, ports, adminPort }: SimulatorOptions): Promise<Part> {
  const part = parts.start({
    name,
    layer: 0,
    command: process.execPath,
    args: [PROGRAM],
    env: {
      LISTEN_HOST: '127.0.0.1',
      ADMIN_PORT: String(adminPort),
      SIMULATOR_ENGINES: JSON.stringify(models.map((model, index) => toSimulatedEngine(model, ports[index]))),
    },
    stopSignal: 'SIGTERM',
    hasChannel: true,
  });
  const areHealthy = async () => (await Promise.all(ports.map(isHealthy))).every(Boolean);
  await parts.untilReady(part, areHealthy);
  return part;
}

const TIMEOUT_MS = 5_000;

/** Whether the engine on this port of the loopback address says that it is healthy. Rejects where nothing answers. */
export async function isHealthy(port: number): Promise<boolean> {
  const { statusCode, body } = await request(`http://127.0.0.1:${port}/health`, {
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  await body.dump();
  return statusCode === 200;
}
