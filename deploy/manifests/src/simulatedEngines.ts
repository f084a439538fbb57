import { join } from 'node:path';
import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import { toSimulatedEngine } from '@turnpike/local-stack/engines/toSimulatedEngine';
import { readServedModels } from '@turnpike/local-stack/readServedModels';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';

/** Of the first model's engine; each model has the next one. */
const FIRST_PORT = 8000;

/** The models that the engines of `local` play: all text models of the catalog, which both regions have. */
export async function readSimulatedModels(): Promise<CatalogModel[]> {
  return (await readServedModels(join(repositoryRoot, 'deploy/catalog/us/catalog.yaml'), 'us')).models;
}

/** What tells the simulator of its engines, as an environment file. */
export const toSimulatorEnvironment = (models: CatalogModel[]): string =>
  `SIMULATOR_ENGINES=${JSON.stringify(models.map((model, index) => toSimulatedEngine(model, FIRST_PORT + index)))}\n`;

/** What tells a region's routers of them: each model is a port of every pod behind the Service `engines`. */
export const toEnginesFile = (models: CatalogModel[], { namespace }: { namespace: string }): string =>
  formatEngines(models, (port) => ({ discover: `k8s://${namespace}/engines:${port}` }));

/** The same where one container is called `engines`. */
export const toComposeEnginesFile = (models: CatalogModel[]): string =>
  formatEngines(models, (port) => ({ url: `http://engines:${port}` }));

function formatEngines(models: CatalogModel[], toAddress: (port: number) => object): string {
  const engines = models.map(({ id }, index) => ({ id, ...toAddress(FIRST_PORT + index), model: id }));
  return `${JSON.stringify({ engines }, null, 2)}\n`;
}
