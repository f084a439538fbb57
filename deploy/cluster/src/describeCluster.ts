import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Region } from '@turnpike/config/region';
import { forEachOf, REGION_SERVICES } from '@turnpike/config/services';
import type { LocalSecrets } from '@turnpike/local-stack/localSecrets';
import { StackError } from '@turnpike/local-stack/stackError';
import type { StackRegion } from '@turnpike/local-stack/stackFile';
import { z } from 'zod';
import { getJson } from './kubectl.ts';
import { namespaceOf, OWN_STATE, STACK_FILE, STATE, secretsFileOf } from './paths.ts';

const PORT = 8080;
const INTERNAL_PORT = 9090;

const servicesSchema = z.object({
  items: z.array(z.object({ metadata: z.object({ name: z.string() }), spec: z.object({ clusterIP: z.string() }) })),
});

/** What the operator's command line and people's own scripts read of a region: as of a local stack, by the addresses of its Services. */
export type ClusterRegion = Pick<
  StackRegion,
  'base_url' | 'api_key' | 'services' | 'secrets_file' | 'postgres_url' | 'redis_url' | 'kafka_brokers'
>;

/** How a region is reached from this machine, which has routes to all pods and Services. */
export async function describeRegion(region: Region, secrets: LocalSecrets): Promise<ClusterRegion> {
  const { items } = servicesSchema.parse(await getJson(['get', 'services', '-n', namespaceOf(region)]));
  const addresses = new Map(items.map(({ metadata, spec }) => [metadata.name, spec.clusterIP]));
  const addressOf = (name: string): string => {
    const address = addresses.get(name);
    if (address === undefined) throw new StackError(`The manifests of ${region} have no Service ${name}.`);
    return address;
  };
  const pid = Number(await readFile(join(STATE, 'node1', 'pid'), 'utf8'));
  return {
    base_url: `http://${addressOf('edge')}:${PORT}/v1`,
    api_key: secrets.apiKey,
    services: forEachOf(REGION_SERVICES, (service) => ({
      url: `http://${addressOf(service)}:${PORT}`,
      internal_url: `http://${addressOf(service)}:${INTERNAL_PORT}`,
      pid,
    })),
    secrets_file: secretsFileOf(region),
    postgres_url: `postgresql://turnpike:${secrets.postgresPassword}@${addressOf('postgres')}:5432/postgres`,
    redis_url: `redis://:${secrets.redisPassword}@${addressOf('redis')}:6379`,
    kafka_brokers: null,
  };
}

/** The description of the cluster that runs. Throws a `StackError` where none does. */
export async function readClusterFile(): Promise<Record<Region, ClusterRegion>> {
  const text = await readFile(STACK_FILE, 'utf8').catch(() => {
    throw new StackError('No cluster runs here: start one with "npm run cluster".');
  });
  return JSON.parse(text).regions;
}

/** Writes the description for the owner alone: it holds keys. */
export async function writeClusterFile(regions: Record<Region, ClusterRegion>): Promise<void> {
  await mkdir(OWN_STATE, { recursive: true });
  await writeFile(STACK_FILE, `${JSON.stringify({ port_base: 'cluster', regions }, null, 2)}\n`, { mode: 0o600 });
}
