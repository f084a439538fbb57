import { REGIONS, type Scope } from '@turnpike/config/region';
import {
  DATABASE_SERVICES,
  type DatabaseService,
  GLOBAL_SERVICES,
  REGION_SERVICES,
  SERVICES,
  type ServiceName,
} from '@turnpike/config/services';
import {
  type DatabaseRole,
  type LocalSecrets,
  loadLocalSecrets,
  toPublicKeys,
} from '@turnpike/local-stack/localSecrets';
import { namespaceOf, SCOPES, secretsFileOf } from './paths.ts';

/** The access key id of requests to a region's S3 server. */
const S3_ACCESS_KEY_ID = 'turnpike-local';

/** The secrets of each scope. */
export type ClusterSecrets = Record<Scope, LocalSecrets>;

/** Loads the secrets of every scope: made once, each kept in a file of its own that only its owner may read. */
export async function loadClusterSecrets(
  secretsFile: (scope: Scope) => string = secretsFileOf,
): Promise<ClusterSecrets> {
  const loaded = SCOPES.map(async (scope) => {
    const services = scope === 'global' ? GLOBAL_SERVICES : REGION_SERVICES;
    // Data goes with the cluster, so none is left that only these would open.
    return [scope, await loadLocalSecrets(secretsFile(scope), { scope, services, dataDirs: [] })] as const;
  });
  return Object.fromEntries(await Promise.all(loaded)) as ClusterSecrets;
}

/** The Secrets that a scope's manifests name. */
export function toSecretObjects(scope: Scope, secrets: ClusterSecrets): object[] {
  const values = scope === 'global' ? toGlobalValues(secrets) : toSecretValues(secrets[scope], globalKeysOf(secrets));
  return Object.entries(values).map(([name, stringData]) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: namespaceOf(scope), labels: { 'app.kubernetes.io/part-of': 'turnpike' } },
    stringData,
  }));
}

type SecretValues = Record<string, Record<string, string>>;

/**
 * Returns what a region's Secrets hold, by their names. Stores are reached by the names of their Services. `globalKeys` sign what the
 * region takes from services of all regions. None where it runs alone, or with the account layer among its own services.
 */
export function toSecretValues(secrets: LocalSecrets, globalKeys: readonly string[] = []): SecretValues {
  const ledger = SERVICES['usage-ledger'].database;
  const keyOf = (service: ServiceName) => ({ INTERNAL_SIGNING_KEY: secrets.internalKeys[service] ?? '' });
  const redis = { REDIS_URL: `redis://:${secrets.redisPassword}@redis:6379` };
  const urlOf = (service: DatabaseService, role: DatabaseRole) => ({
    DATABASE_URL: toDatabaseUrl(service, role, secrets),
  });
  return {
    postgres: toPostgresValues(secrets),
    redis: { REDIS_PASSWORD: secrets.redisPassword },
    s3: { S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY: secrets.s3Secret },
    'turnpike-internal': {
      INTERNAL_PUBLIC_KEYS: toPublicKeys([...Object.values(secrets.internalKeys), ...globalKeys]),
    },
    auth: { ...keyOf('auth'), ...urlOf('auth', 'auth'), KEY_PEPPERS: secrets.keyPeppers },
    operator: { INTERNAL_SIGNING_KEY: secrets.internalKeys.operator ?? '' },
    edge: { ...keyOf('edge'), ...redis },
    catalog: { ...keyOf('catalog'), ...redis, ...urlOf('catalog', 'catalog') },
    'model-router': { ...keyOf('model-router'), ...redis, CACHE_SALT_KEYS: secrets.cacheSaltKeys },
    'usage-ledger': { ...keyOf('usage-ledger'), ...urlOf('usage-ledger', ledger.name) },
    'migrate-usage-ledger': urlOf('usage-ledger', ledger.owner),
    'media-jobs': {
      ...keyOf('media-jobs'),
      ...redis,
      ...urlOf('media-jobs', 'media'),
      OBJECT_STORE_ACCESS_KEY_ID: S3_ACCESS_KEY_ID,
      OBJECT_STORE_SECRET_ACCESS_KEY: secrets.s3Secret,
    },
    ...(secrets.databasePasswords.account !== undefined && toAccountValues(secrets)),
  };
}

/** The address of the payments simulator for the control plane. */
const PAYMENTS_URL = 'http://payments-simulator:8400';

/** Returns what the Secrets of the control plane, its migration and the payments simulator hold, without the mail server's address. */
function toAccountValues(secrets: LocalSecrets) {
  const { name, owner } = SERVICES['control-plane'].database;
  const { paymentsKey = '', webhookSecret = '' } = secrets;
  return {
    'control-plane': {
      INTERNAL_SIGNING_KEY: secrets.internalKeys['control-plane'] ?? '',
      DATABASE_URL: toDatabaseUrl('control-plane', name, secrets),
      PAYMENT_PROCESSOR: JSON.stringify({
        ...{ secret_key: paymentsKey, webhook_secrets: [webhookSecret], api_url: PAYMENTS_URL },
        documents: {
          ...{ url: 'http://s3:8080', region: 'us-east-1', bucket: 'documents' },
          ...{ access_key_id: S3_ACCESS_KEY_ID, secret_access_key: secrets.s3Secret },
        },
      }),
    },
    'payments-simulator': { SECRET_KEY: paymentsKey, WEBHOOK_SECRET: webhookSecret },
    'migrate-control-plane': { DATABASE_URL: toDatabaseUrl('control-plane', owner, secrets) },
  };
}

/** The same of the account layer, which takes requests of the services and operators of every region. */
function toGlobalValues(secrets: ClusterSecrets): SecretValues {
  const { global } = secrets;
  const regionKeys = REGIONS.flatMap((region) => Object.values(secrets[region].internalKeys));
  const account = toAccountValues(global);
  return {
    ...account,
    postgres: toPostgresValues(global),
    s3: { S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY: global.s3Secret },
    'turnpike-internal': { INTERNAL_PUBLIC_KEYS: toPublicKeys([...regionKeys, ...globalKeysOf(secrets)]) },
    'control-plane': {
      ...account['control-plane'],
      // Users sign in by mailed links. An issuer has one address, and no address is `localhost` to pods and to browsers alike.
      OIDC_PROVIDERS: '[]',
      SMTP_URL: 'smtp://mail-catcher:2525',
    },
  };
}

const globalKeysOf = ({ global }: ClusterSecrets): string[] =>
  GLOBAL_SERVICES.map((service) => global.internalKeys[service] ?? '');

const toDatabaseUrl = (service: DatabaseService, role: DatabaseRole, { databasePasswords }: LocalSecrets): string =>
  `postgresql://${role}:${databasePasswords[role]}@postgres:5432/${SERVICES[service].database.name}`;

/** The superuser's password, and the databases with their roles, of which the secrets have passwords. */
function toPostgresValues({ postgresPassword, databasePasswords }: LocalSecrets): Record<string, string> {
  const toRole = (name: DatabaseRole) => ({ name, password: databasePasswords[name] });
  const databases = DATABASE_SERVICES.flatMap((service) => {
    const { database } = SERVICES[service];
    if (databasePasswords[database.name] === undefined) return [];
    return [{ ...toRole(database.name), ...('owner' in database && { owner: toRole(database.owner) }) }];
  });
  return { POSTGRES_PASSWORD: postgresPassword, DATABASES: JSON.stringify(databases) };
}
