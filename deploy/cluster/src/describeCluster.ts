import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { REGIONS, type Region, type Scope } from '@turnpike/config/region';
import { forEachOf, GLOBAL_SERVICES, REGION_SERVICES, type ServiceName } from '@turnpike/config/services';
import { StackError } from '@turnpike/local-stack/stackError';
import type { StackDescription, StackRegion } from '@turnpike/local-stack/stackFile';
import { z } from 'zod';
import type { ClusterSecrets } from './clusterSecrets.ts';
import { getJson } from './kubectl.ts';
import { namespaceOf, OWN_STATE, STACK_FILE, STATE, secretsFileOf } from './paths.ts';

const PORT = 8080;
const INTERNAL_PORT = 9090;
const CONSOLE_PORT = 8081;

/** The address of the account layer to browsers, as the manifests say it. A forwarded port leads there. */
export const ACCOUNT_ORIGIN = 'http://localhost:8106';

const servicesSchema = z.object({
  items: z.array(z.object({ metadata: z.object({ name: z.string() }), spec: z.object({ clusterIP: z.string() }) })),
});

/** A region as the operator's command line and users' scripts read it: like a region of a local stack, with addresses of Services. */
export type ClusterRegion = Pick<
  StackRegion,
  'base_url' | 'console_url' | 'api_key' | 'services' | 'secrets_file' | 'postgres_url' | 'redis_url' | 'kafka_brokers'
>;

/** The cluster, as `stack.json` describes a local stack. */
export interface ClusterDescription extends Pick<StackDescription, 'services'> {
  /** `origin` is what browsers send as their origin. This machine reaches the account layer by its Service. */
  account: Pick<StackDescription['account'], 'origin' | 'mail_catcher_url'>;
  regions: Record<Region, ClusterRegion>;
}

/** Describes how the regions and the account layer are reached from this machine, which has routes to all pods and Services. */
export async function describeCluster(secrets: ClusterSecrets): Promise<ClusterDescription> {
  const pid = Number(await readFile(join(STATE, 'node1', 'pid'), 'utf8'));
  const toService = (service: ServiceName, addressOf: (name: string) => string) => ({
    url: `http://${addressOf(service)}:${PORT}`,
    internal_url: `http://${addressOf(service)}:${INTERNAL_PORT}`,
    pid,
  });
  const regions = REGIONS.map(async (region): Promise<[Region, ClusterRegion]> => {
    const addressOf = await readAddresses(region);
    const { apiKey, postgresPassword, redisPassword } = secrets[region];
    const described = {
      base_url: `http://${addressOf('edge')}:${PORT}/v1`,
      console_url: `http://${addressOf('edge')}:${CONSOLE_PORT}`,
      api_key: apiKey,
      services: forEachOf(REGION_SERVICES, (service) => toService(service, addressOf)),
      secrets_file: secretsFileOf(region),
      postgres_url: `postgresql://turnpike:${postgresPassword}@${addressOf('postgres')}:5432/postgres`,
      redis_url: `redis://:${redisPassword}@${addressOf('redis')}:6379`,
      kafka_brokers: null,
    };
    return [region, described];
  });
  const globalAddressOf = await readAddresses('global');
  return {
    services: forEachOf(GLOBAL_SERVICES, (service) => toService(service, globalAddressOf)),
    account: { origin: ACCOUNT_ORIGIN, mail_catcher_url: `http://${globalAddressOf('mail-catcher')}:${PORT}` },
    regions: Object.fromEntries(await Promise.all(regions)) as Record<Region, ClusterRegion>,
  };
}

/** Returns a function that gives the address of a scope's Service, and throws a `StackError` for one that the scope lacks. */
async function readAddresses(scope: Scope): Promise<(name: string) => string> {
  const { items } = servicesSchema.parse(await getJson(['get', 'services', '-n', namespaceOf(scope)]));
  const addresses = new Map(items.map(({ metadata, spec }) => [metadata.name, spec.clusterIP]));
  return (name) => {
    const address = addresses.get(name);
    if (address === undefined) throw new StackError(`The manifests of ${scope} have no Service ${name}.`);
    return address;
  };
}

/** The description of the cluster that runs. Throws a `StackError` where none does. */
export async function readClusterFile(): Promise<ClusterDescription> {
  const text = await readFile(STACK_FILE, 'utf8').catch(() => {
    throw new StackError('No cluster runs here: start one with "npm run cluster".');
  });
  return JSON.parse(text);
}

/** Writes the description for the owner alone: it holds keys. */
export async function writeClusterFile(described: ClusterDescription): Promise<void> {
  await mkdir(OWN_STATE, { recursive: true });
  await writeFile(STACK_FILE, `${JSON.stringify({ port_base: 'cluster', ...described }, null, 2)}\n`, { mode: 0o600 });
}
