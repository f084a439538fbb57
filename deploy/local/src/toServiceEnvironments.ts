import type { LocalSecrets } from './localSecrets.ts';
import type { Observation } from './observation.ts';
import { DATABASES, type DatabaseService } from './parts/migrateDatabase.ts';
import type { ServiceName, StackPorts } from './stackPorts.ts';

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
}

export interface ServiceUrls {
  /** What the edge proxies to; the edge's own is the clients'. */
  url: string;
  internalUrl: string;
}

/** Where each service listens. */
export function toServiceUrls(ports: StackPorts): Record<ServiceName, ServiceUrls> {
  const urlsOf = (service: ServiceName): ServiceUrls => {
    const { port, internalPort } = ports.services[service];
    return { url: `http://127.0.0.1:${port}`, internalUrl: `http://127.0.0.1:${internalPort}` };
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
export function toDatabaseUrl(service: DatabaseService, { ports, secrets }: StackSettings): string {
  const name = DATABASES[service];
  return `postgresql://${name}:${secrets.databasePasswords[name]}@127.0.0.1:${ports.postgres}/${name}`;
}

export function toRedisUrl({ ports, secrets }: StackSettings): string {
  return `redis://:${secrets.redisPassword}@127.0.0.1:${ports.redis}`;
}

/** Every variable that each service reads, apart from those whose default is right on a laptop. */
export function toServiceEnvironments(settings: StackSettings): Record<ServiceName, Record<string, string>> {
  const { ports, secrets, catalogFile, enginesFile, spoolDir, kafkaBrokers, observation } = settings;
  const urls = toServiceUrls(ports);
  const commonOf = (service: ServiceName) => ({
    REGION: 'us',
    LISTEN_HOST: '127.0.0.1',
    PORT: String(ports.services[service].port),
    INTERNAL_PORT: String(ports.services[service].internalPort),
    INTERNAL_TOKEN_KEYS: secrets.internalTokenKeys,
    ...observation,
  });
  const eventLog = kafkaBrokers === undefined ? {} : { KAFKA_BROKERS: kafkaBrokers };
  return {
    edge: {
      ...commonOf('edge'),
      AUTH_URL: urls.auth.url,
      CATALOG_URL: urls.catalog.url,
      ROUTER_URL: urls['model-router'].url,
      LEDGER_URL: urls['usage-ledger'].url,
      TRUSTED_HOPS: '0',
    },
    auth: {
      ...commonOf('auth'),
      DATABASE_URL: toDatabaseUrl('auth', settings),
      KEY_PEPPERS: secrets.keyPeppers,
      ROUTER_INTERNAL_URL: urls['model-router'].internalUrl,
    },
    catalog: {
      ...commonOf('catalog'),
      DATABASE_URL: toDatabaseUrl('catalog', settings),
      CATALOG_FILE: catalogFile,
      AUTH_INTERNAL_URL: urls.auth.internalUrl,
      ROUTER_INTERNAL_URL: urls['model-router'].internalUrl,
    },
    'model-router': {
      ...commonOf('model-router'),
      REDIS_URL: toRedisUrl(settings),
      AUTH_INTERNAL_URL: urls.auth.internalUrl,
      CATALOG_INTERNAL_URL: urls.catalog.internalUrl,
      LEDGER_INTERNAL_URL: urls['usage-ledger'].internalUrl,
      ENGINES_FILE: enginesFile,
      SPOOL_DIR: spoolDir,
      CACHE_SALT_KEYS: secrets.cacheSaltKeys,
      ...eventLog,
    },
    'usage-ledger': {
      ...commonOf('usage-ledger'),
      DATABASE_URL: toDatabaseUrl('usage-ledger', settings),
      AUTH_INTERNAL_URL: urls.auth.internalUrl,
      ...eventLog,
    },
  };
}
