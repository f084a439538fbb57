import { join } from 'node:path';
import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import { toSimulatedEngine } from '@turnpike/local-stack/engines/toSimulatedEngine';
import { readServedModels } from '@turnpike/local-stack/readServedModels';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';

/** The port of the first model's engine; each further model has the next port. */
const FIRST_PORT = 8000;

/** The models that the engines of `local` play: all text models of the catalog, which both regions have. */
export async function readSimulatedModels(): Promise<CatalogModel[]> {
  return (await readServedModels(join(repositoryRoot, 'deploy/catalog/us/catalog.yaml'), 'us')).models;
}

/** Lists the engines for the simulator, as an environment file. */
export const toSimulatorEnvironment = (models: CatalogModel[]): string =>
  `SIMULATOR_ENGINES=${JSON.stringify(models.map((model, index) => toSimulatedEngine(model, FIRST_PORT + index)))}\n`;

/** Lists the engines for a region's routers. Each model is a port of every pod behind the Service `engines`. */
export const toEnginesFile = (models: CatalogModel[], { namespace }: { namespace: string }): string =>
  formatEngines(models, (port) => ({ discover: `k8s://${namespace}/engines:${port}` }));

/** The same where one container is called `engines`. */
export const toComposeEnginesFile = (models: CatalogModel[]): string =>
  formatEngines(models, (port) => ({ url: `http://engines:${port}` }));

function formatEngines(models: CatalogModel[], toAddress: (port: number) => object): string {
  const engines = models.map(({ id }, index) => ({ id, ...toAddress(FIRST_PORT + index), model: id }));
  return `${JSON.stringify({ engines }, null, 2)}\n`;
}
