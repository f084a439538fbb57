import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import { startProgram } from '../parts/startProgram.ts';
import type { Parts } from '../process/startParts.ts';
import type { StackPorts } from '../stackPorts.ts';
import type { PortOf } from '../toServiceEnvironments.ts';
import type { LaunchedEngine, LaunchingEngines } from './launchedEngine.ts';
import { writeEnginesFile } from './launchedEngine.ts';
import { toSimulatedEngine } from './toSimulatedEngine.ts';

export interface SimulatorsOptions {
  parts: Parts;
  models: CatalogModel[];
  ports: StackPorts;
  /** Written: `engine-<replica>/<model>` and where each answers. */
  enginesFile: string;
  portOf: PortOf;
}

/** Starts the simulator processes, each hosting one engine of every model. */
export function launchSimulators({ parts, models, ports, enginesFile, portOf }: SimulatorsOptions): LaunchingEngines {
  const entries = ports.engines.flatMap((enginePorts, simulator) =>
    models.map(({ id }, index) => ({
      id: `engine-${simulator + 1}/${id}`,
      url: toUrl(portOf('model-router', enginePorts[index] ?? 0)),
      model: id,
    })),
  );
  const start = async (enginePorts: number[], simulator: number): Promise<LaunchedEngine> => {
    const adminPort = ports.simulatorAdmins[simulator] ?? 0;
    const { name, pid } = await startProgram(parts, {
      name: `engines-${simulator + 1}`,
      file: 'deploy/engine-simulator/src/main.ts',
      env: {
        LISTEN_HOST: '127.0.0.1',
        ADMIN_PORT: String(adminPort),
        SIMULATOR_ENGINES: JSON.stringify(models.map((model, index) => toSimulatedEngine(model, enginePorts[index]))),
      },
      ports: enginePorts,
    });
    return { name, urls: enginePorts.map(toUrl), adminUrl: toUrl(adminPort), pid };
  };
  return {
    listed: writeEnginesFile(enginesFile, entries).then(() => models),
    ready: Promise.all(ports.engines.map(start)),
  };
}

const toUrl = (port: number | undefined): string => `http://127.0.0.1:${port}`;
