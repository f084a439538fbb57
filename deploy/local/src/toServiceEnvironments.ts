import type { LocalSecrets } from './localSecrets.ts';
import type { Observation } from './observation.ts';
import {
  DATABASE_OWNERS,
  DATABASES,
  type DatabaseService,
  type MigrationEnvironment,
} from './parts/migrateDatabase.ts';
import { SERVICES, type ServiceName, type ServicePorts, type StackPorts } from './stackPorts.ts';

/** Variables of single services. */
export type ServiceSettings = Partial<Record<ServiceName, Record<string, string>>>;

/** The port by which a service reaches another part's port. */
export type PortOf = (from: ServiceName, port: number) => number;

export interface StackSettings {
  ports: StackPorts;
  secrets: LocalSecrets;
  /** Where they are kept. */
  secretsFile: string;
  catalogFile: string;
  enginesFile: string;
  spoolDir: string;
  /** Comma separated; undefined where the event log is the embedded one. */
  kafkaBrokers: string | undefined;
  observation: Observation;
  /** They go over everything else. */
  serviceSettings: ServiceSettings;
  /** The same port, unless something stands between the two. */
  portOf: PortOf;
}

export interface ServiceUrls {
  /** What the edge proxies to; the edge's own is the clients'. */
  url: string;
  internalUrl: string;
}

/** Where each service listens; with `portOf`, where it is reached. */
export function toServiceUrls(
  ports: StackPorts,
  portOf: (port: number) => number = (port) => port,
): Record<ServiceName, ServiceUrls> {
  const urlsOf = (service: ServiceName): ServiceUrls => {
    const { port, internalPort } = ports.services[service];
    return { url: `http://127.0.0.1:${portOf(port)}`, internalUrl: `http://127.0.0.1:${portOf(internalPort)}` };
  };
  return {
    edge: urlsOf('edge'),
    auth: urlsOf('auth'),
    catalog: urlsOf('catalog'),
    'model-router': urlsOf('model-router'),
    'usage-ledger': urlsOf('usage-ledger'),
  };
}

/** The address by which a service reaches its own database, with its own role. */
export function toDatabaseUrl(service: DatabaseService, settings: StackSettings): string {
  return toRoleUrl(service, DATABASES[service], settings);
}

/** What the migration of a service's database reads. */
export function toMigrationEnvironment(service: DatabaseService, settings: StackSettings): MigrationEnvironment {
  if (service !== 'usage-ledger') return { DATABASE_URL: toDatabaseUrl(service, settings) };
  return {
    DATABASE_URL: toRoleUrl(service, DATABASE_OWNERS[service], settings),
    SERVICE_ROLE: DATABASES[service],
  };
}

function toRoleUrl(
  service: DatabaseService,
  role: keyof LocalSecrets['databasePasswords'],
  { ports, secrets, portOf }: StackSettings,
): string {
  const port = portOf(service, ports.postgres);
  return `postgresql://${role}:${secrets.databasePasswords[role]}@127.0.0.1:${port}/${DATABASES[service]}`;
}

export function toRedisUrl({ ports, secrets }: StackSettings, port = ports.redis): string {
  return `redis://:${secrets.redisPassword}@127.0.0.1:${port}`;
}

/** Every variable that each service reads, apart from those whose default is right on a laptop. */
export function toServiceEnvironments(settings: StackSettings): Record<ServiceName, Record<string, string>> {
  const { ports, secrets, catalogFile, enginesFile, spoolDir, kafkaBrokers, observation, portOf } = settings;
  const urlsFor = (from: ServiceName) => toServiceUrls(ports, (port) => portOf(from, port));
  const commonOf = (service: ServiceName) => ({
    REGION: 'us',
    LISTEN_HOST: '127.0.0.1',
    PORT: String(ports.services[service].port),
    INTERNAL_PORT: String(ports.services[service].internalPort),
    INTERNAL_TOKEN_KEYS: secrets.internalTokenKeys,
    // No load balancer has to notice, and nobody likes to wait for the end.
    DRAIN_SETTLE_MS: '0',
    ...observation,
  });
  const eventLogOf = (service: keyof StackPorts['kafkaListeners']) =>
    kafkaBrokers === undefined ? {} : { KAFKA_BROKERS: `127.0.0.1:${portOf(service, ports.kafkaListeners[service])}` };
  const [forEdge, forAuth, forCatalog] = [urlsFor('edge'), urlsFor('auth'), urlsFor('catalog')];
  const [forRouter, forLedger] = [urlsFor('model-router'), urlsFor('usage-ledger')];
  const environments: Record<ServiceName, Record<string, string>> = {
    edge: {
      ...commonOf('edge'),
      AUTH_URL: forEdge.auth.url,
      CATALOG_URL: forEdge.catalog.url,
      ROUTER_URL: forEdge['model-router'].url,
      LEDGER_URL: forEdge['usage-ledger'].url,
      TRUSTED_HOPS: '0',
    },
    auth: {
      ...commonOf('auth'),
      DATABASE_URL: toDatabaseUrl('auth', settings),
      KEY_PEPPERS: secrets.keyPeppers,
      ROUTER_INTERNAL_URL: forAuth['model-router'].internalUrl,
    },
    catalog: {
      ...commonOf('catalog'),
      DATABASE_URL: toDatabaseUrl('catalog', settings),
      CATALOG_FILE: catalogFile,
      AUTH_INTERNAL_URL: forCatalog.auth.internalUrl,
      ROUTER_INTERNAL_URL: forCatalog['model-router'].internalUrl,
    },
    'model-router': {
      ...commonOf('model-router'),
      REDIS_URL: toRedisUrl(settings, portOf('model-router', ports.redis)),
      AUTH_INTERNAL_URL: forRouter.auth.internalUrl,
      CATALOG_INTERNAL_URL: forRouter.catalog.internalUrl,
      LEDGER_INTERNAL_URL: forRouter['usage-ledger'].internalUrl,
      ENGINES_FILE: enginesFile,
      SPOOL_DIR: spoolDir,
      CACHE_SALT_KEYS: secrets.cacheSaltKeys,
      ...eventLogOf('model-router'),
    },
    'usage-ledger': {
      ...commonOf('usage-ledger'),
      DATABASE_URL: toDatabaseUrl('usage-ledger', settings),
      AUTH_INTERNAL_URL: forLedger.auth.internalUrl,
      ROUTER_INTERNAL_URL: forLedger['model-router'].internalUrl,
      CATALOG_INTERNAL_URL: forLedger.catalog.internalUrl,
      ...eventLogOf('usage-ledger'),
    },
  };
  const changed = SERVICES.map((service) => [
    service,
    { ...environments[service], ...settings.serviceSettings[service] },
  ]);
  return Object.fromEntries(changed) as Record<ServiceName, Record<string, string>>;
}

/** What a further process of a service reads in place of the first one's: its own listeners, and its own spool. */
export function toReplicaEnvironment(
  environment: Record<string, string>,
  { ports, name }: { ports: ServicePorts; name: string },
): Record<string, string> {
  const { SPOOL_DIR: spoolDir } = environment;
  return {
    ...environment,
    PORT: String(ports.port),
    INTERNAL_PORT: String(ports.internalPort),
    ...(spoolDir !== undefined && { SPOOL_DIR: `${spoolDir}-${name}` }),
  };
}
