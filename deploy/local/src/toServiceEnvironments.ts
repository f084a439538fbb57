import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { Region } from '@turnpike/config/region';
import {
  type DatabaseService,
  entryOf,
  forEachOf,
  isDatabaseService,
  isEventLogService,
  SERVICE_NAMES,
  SERVICES,
  type ServiceName,
} from '@turnpike/config/services';
import { PAGES } from '@turnpike/console-api/pages';
import type { DatabaseRole, LocalSecrets } from './localSecrets.ts';
import type { MigrationEnvironment } from './parts/migrateDatabase.ts';
import { repositoryRoot } from './repositoryRoot.ts';
import type { ServicePorts, StackPorts } from './stackPorts.ts';
import type { Observation } from './toPartEnvironment.ts';

/** Variables of single services. `LIMITS` becomes JSON. */
export type ServiceSettings = Partial<Record<ServiceName, OwnSettings>>;
interface OwnSettings {
  LIMITS?: Record<string, number>;
  [variable: string]: string | Record<string, number> | undefined;
}

/** Returns both settings as one. A variable or limit that both have is that of `over`. */
export function mergeSettings(under: ServiceSettings, over: ServiceSettings): ServiceSettings {
  return forEachOf(SERVICE_NAMES, (service) => {
    const LIMITS = { ...under[service]?.LIMITS, ...over[service]?.LIMITS };
    return { ...under[service], ...over[service], LIMITS };
  });
}

const toVariables = ({ LIMITS, ...variables }: OwnSettings = {}): Record<string, string> => ({
  ...(variables as Record<string, string>),
  ...(LIMITS && Object.keys(LIMITS).length > 0 && { LIMITS: JSON.stringify(LIMITS) }),
});

/** The port by which a service reaches another part's port. */
export type PortOf = (from: ServiceName, port: number) => number;

/** The settings of one region of a stack. */
export interface StackSettings {
  region: Region;
  /** Every region of the stack, this one among them. */
  regions: Pick<StackSettings, 'region' | 'ports'>[];
  ports: StackPorts;
  secrets: LocalSecrets;
  /** Verify the calls that services of either scope get: `INTERNAL_PUBLIC_KEYS`. */
  publicKeys: Record<'region' | 'global', string>;
  /** The file of these secrets. */
  secretsFile: string;
  catalogFile: string;
  enginesFile: string;
  mediaBackendsFile: string;
  /** Folder of what services keep on disk, each below a name of its own. */
  dataDir: string;
  /** Whether an S3 server stores objects, instead of a folder. */
  s3: boolean;
  /** Comma separated; undefined with the embedded event log. */
  kafkaBrokers: string | undefined;
  observation: Observation;
  /** Settings that override all others. */
  serviceSettings: ServiceSettings;
  /** Returns the port to connect to: the part's own, or that of a link. */
  portOf: PortOf;
}

export interface ServiceUrls {
  /** The listener that the edge proxies to. The edge's own is for clients. */
  url: string;
  internalUrl: string;
}

/** Returns the listeners of each service. With `portOf`, they are the ports by which others reach it. */
export function toServiceUrls(
  ports: StackPorts,
  portOf: (port: number) => number = (port) => port,
): Record<ServiceName, ServiceUrls> {
  return forEachOf(SERVICE_NAMES, (service) => {
    const { port, internalPort } = ports.services[service];
    return { url: `http://127.0.0.1:${portOf(port)}`, internalUrl: `http://127.0.0.1:${portOf(internalPort)}` };
  });
}

/** The account layer's name at the identity provider. */
const OIDC_CLIENT_ID = 'turnpike';

/** The addresses of the account layer. Browsers keep a session over plain http for `localhost` alone. */
export const toAccountAddresses = ({ services, identityProvider, mailCatcher, payments }: StackPorts) => ({
  accountOrigin: `http://localhost:${services['control-plane'].port}`,
  identityProvider: `http://localhost:${identityProvider}`,
  mailCatcher: `http://localhost:${mailCatcher.port}`,
  payments: `http://localhost:${payments.port}`,
});

/** Returns the account layer's account at the payments simulator. */
export const toPaymentsAccount = ({ ports, secrets }: Pick<StackSettings, 'ports' | 'secrets'>) => ({
  secretKey: secrets.paymentsKey ?? '',
  webhookUrl: `${toServiceUrls(ports)['control-plane'].url}/account/webhooks/payments`,
  webhookSecret: secrets.webhookSecret ?? '',
});

/** Returns the account layer's client at the identity provider. */
export const toOidcClient = ({ ports, secrets }: Pick<StackSettings, 'ports' | 'secrets'>) => ({
  client_id: OIDC_CLIENT_ID,
  client_secret: secrets.oidcClientSecret ?? '',
  redirect_uris: [`${toAccountAddresses(ports).accountOrigin}/account/sign-in/oidc/return/local`],
});

/** The address by which a service reaches its own database, with its own role. */
export const toDatabaseUrl = (service: DatabaseService, settings: StackSettings): string =>
  toRoleUrl(service, SERVICES[service].database.name, settings);

/** Returns the variables of the migration of a service's database. */
export function toMigrationEnvironment(service: DatabaseService, settings: StackSettings): MigrationEnvironment {
  const { database } = SERVICES[service];
  if (!('owner' in database)) return { DATABASE_URL: toDatabaseUrl(service, settings) };
  return { DATABASE_URL: toRoleUrl(service, database.owner, settings), SERVICE_ROLE: database.name };
}

function toRoleUrl(service: DatabaseService, role: DatabaseRole, { ports, secrets, portOf }: StackSettings): string {
  const place = `127.0.0.1:${portOf(service, ports.postgres)}/${SERVICES[service].database.name}`;
  return `postgresql://${role}:${secrets.databasePasswords[role]}@${place}`;
}

export function toRedisUrl({ ports, secrets }: StackSettings, port = ports.redis): string {
  return `redis://:${secrets.redisPassword}@127.0.0.1:${port}`;
}

/** The hosts of a region, as the control plane lists them to browsers. */
const toRegionHosts = ({ region, ports }: Pick<StackSettings, 'region' | 'ports'>) => [
  region,
  {
    console_url: `http://localhost:${ports.services.edge.consolePort}`,
    base_url: `${toServiceUrls(ports).edge.url}/v1`,
  },
];

/** Variables of a service that are neither common to several nor addresses, and that have no default. */
const OWN_VARIABLES: Partial<Record<ServiceName, (settings: StackSettings) => Record<string, string>>> = {
  edge: ({ ports }) => ({
    CONSOLE_PORT: String(ports.services.edge.consolePort),
    CONSOLE_ALLOWED_ORIGIN: toAccountAddresses(ports).accountOrigin,
    TRUSTED_HOPS: '0',
  }),
  auth: ({ secrets }) => ({ KEY_PEPPERS: secrets.keyPeppers }),
  catalog: ({ catalogFile }) => ({ CATALOG_FILE: catalogFile }),
  'model-router': ({ enginesFile, dataDir, secrets }) => ({
    ENGINES_FILE: enginesFile,
    SPOOL_DIR: join(dataDir, 'spool'),
    CACHE_SALT_KEYS: secrets.cacheSaltKeys,
    STORE_COPIES: 'one',
  }),
  'usage-ledger': () => ({ STORE_COPIES: 'one' }),
  'control-plane': ({ regions, ports, secrets, portOf, dataDir }) => ({
    ACCOUNT_ORIGIN: toAccountAddresses(ports).accountOrigin,
    REGION_HOSTS: JSON.stringify(Object.fromEntries(regions.map(toRegionHosts))),
    TRUSTED_HOPS: '0',
    // Ten dollars, so that a workspace made in the browser serves its first calls.
    WELCOME_CREDIT_NANO_USD: '10000000000',
    SMTP_URL: `smtp://127.0.0.1:${portOf('control-plane', ports.mailCatcher.smtpPort)}`,
    MAIL_FROM: 'Turnpike <no-reply@turnpike.localhost>',
    OIDC_PROVIDERS: JSON.stringify([
      {
        id: 'local',
        name: 'Local identity provider',
        issuer: toAccountAddresses(ports).identityProvider,
        client_id: OIDC_CLIENT_ID,
        client_secret: secrets.oidcClientSecret,
      },
    ]),
    PAYMENT_PROCESSOR: JSON.stringify({
      secret_key: secrets.paymentsKey,
      webhook_secrets: [secrets.webhookSecret],
      api_url: `http://127.0.0.1:${portOf('control-plane', ports.payments.port)}`,
      documents: { folder: join(dataDir, 'documents') },
    }),
    DASHBOARD_DIR: join(repositoryRoot, 'dashboard/dist'),
  }),
  'media-jobs': (settings) => ({
    PUBLIC_URL: toServiceUrls(settings.ports).edge.url,
    MEDIA_BACKENDS_FILE: settings.mediaBackendsFile,
    UPLOAD_DIR: join(settings.dataDir, 'media-uploads'),
    SPOOL_DIR: join(settings.dataDir, 'media-spool'),
    STORE_COPIES: 'one',
    ...toObjectStoreVariables(settings),
  }),
};

/** The bucket of the S3 server, and who signs requests to it. */
export const S3 = { bucket: 'media', accessKeyId: 'turnpike-local' } as const;

function toObjectStoreVariables({ s3, dataDir, ports, secrets, portOf }: StackSettings): Record<string, string> {
  if (!s3) return { OBJECT_STORE_FOLDER: join(dataDir, 'objects') };
  return {
    OBJECT_STORE_URL: `http://127.0.0.1:${portOf('media-jobs', ports.s3)}`,
    OBJECT_STORE_REGION: 'us-east-1',
    OBJECT_STORE_BUCKET: S3.bucket,
    OBJECT_STORE_ACCESS_KEY_ID: S3.accessKeyId,
    OBJECT_STORE_SECRET_ACCESS_KEY: secrets.s3Secret,
  };
}

/** Every variable that each service reads, apart from those whose default is right on a laptop. */
export function toServiceEnvironments(settings: StackSettings): Record<ServiceName, Record<string, string>> {
  const { region, ports, secrets, publicKeys, observation, serviceSettings } = settings;
  const revision = readRevision();
  return forEachOf(SERVICE_NAMES, (service) => ({
    ...(entryOf(service).scope === 'region' && { REGION: region, KEYS_PAGE_URL: toKeysPageUrl(ports) }),
    LISTEN_HOST: '127.0.0.1',
    PORT: String(ports.services[service].port),
    INTERNAL_PORT: String(ports.services[service].internalPort),
    INTERNAL_SIGNING_KEY: secrets.internalKeys[service] ?? '',
    INTERNAL_PUBLIC_KEYS: publicKeys[entryOf(service).scope],
    // Without a load balancer a stop needs no wait.
    DRAIN_SETTLE_MS: '0',
    BUILD_REVISION: revision,
    ...observation,
    ...toStoreVariables(service, settings),
    ...toCalleeVariables(service, settings),
    ...OWN_VARIABLES[service]?.(settings),
    ...toVariables(serviceSettings[service]),
  }));
}

/** Returns the commit of this copy; nothing where it is no repository of git. */
function readRevision(): string {
  const { stdout } = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: repositoryRoot, encoding: 'utf8' });
  return stdout?.trim() ?? '';
}

const toKeysPageUrl = (ports: StackPorts): string => toAccountAddresses(ports).accountOrigin + PAGES.refusedCalls;

function toStoreVariables(service: ServiceName, settings: StackSettings): Record<string, string> {
  const { ports, kafkaBrokers, portOf } = settings;
  const variables: Record<string, string> = {};
  if (isDatabaseService(service)) variables.DATABASE_URL = toDatabaseUrl(service, settings);
  if (entryOf(service).redis) variables.REDIS_URL = toRedisUrl(settings, portOf(service, ports.redis));
  if (kafkaBrokers !== undefined && isEventLogService(service))
    variables.KAFKA_BROKERS = `127.0.0.1:${portOf(service, ports.kafkaListeners[service])}`;
  return variables;
}

/** Returns the addresses of a service's callees. */
function toCalleeVariables(service: ServiceName, { ports, portOf }: StackSettings): Record<string, string> {
  const urls = toServiceUrls(ports, (port) => portOf(service, port));
  const { calls, consoleCalls = [] } = entryOf(service);
  const toInternal = (callee: ServiceName) => [`${entryOf(callee).settings}_INTERNAL_URL`, urls[callee].internalUrl];
  const toPublic = (callee: ServiceName) => [`${entryOf(callee).settings}_URL`, urls[callee].url];
  return Object.fromEntries([
    ...calls.map(service === 'edge' ? toPublic : toInternal),
    ...consoleCalls.map(toInternal),
  ]);
}

/** Returns the variables of a further process of a service: the first one's, with its own listeners and folders. */
export function toReplicaEnvironment(
  environment: Record<string, string>,
  { ports, name }: { ports: ServicePorts; name: string },
): Record<string, string> {
  const { SPOOL_DIR: spoolDir, UPLOAD_DIR: uploadDir } = environment;
  return {
    ...environment,
    PORT: String(ports.port),
    INTERNAL_PORT: String(ports.internalPort),
    ...(ports.consolePort !== undefined && { CONSOLE_PORT: String(ports.consolePort) }),
    ...(spoolDir !== undefined && { SPOOL_DIR: `${spoolDir}-${name}` }),
    ...(uploadDir !== undefined && { UPLOAD_DIR: `${uploadDir}-${name}` }),
  };
}
