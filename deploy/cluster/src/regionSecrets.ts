import type { Region } from '@turnpike/config/region';
import {
  type DatabaseService,
  REGION_DATABASE_SERVICES,
  REGION_SERVICES,
  SERVICES,
  type ServiceName,
} from '@turnpike/config/services';
import { type LocalSecrets, loadLocalSecrets, toPublicKeys } from '@turnpike/local-stack/localSecrets';
import { namespaceOf, secretsFileOf } from './paths.ts';

/** Who signs requests to a region's S3 server. */
const S3_ACCESS_KEY_ID = 'turnpike-local';

/** The secrets of a region: made once, kept in a file that only its owner may read, and no other region's. */
export const loadRegionSecrets = (region: Region): Promise<LocalSecrets> =>
  // Data goes with the cluster, so none is left that only these would open.
  loadLocalSecrets(secretsFileOf(region), { region, services: REGION_SERVICES, dataDirs: [] });

/** The Secrets that a region's manifests name. */
export function toSecretObjects(region: Region, secrets: LocalSecrets): object[] {
  return Object.entries(toSecretValues(secrets)).map(([name, stringData]) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: namespaceOf(region), labels: { 'app.kubernetes.io/part-of': 'turnpike' } },
    stringData,
  }));
}

/** What those hold, by their names; stores are reached by the names of their Services. */
export function toSecretValues(secrets: LocalSecrets): Record<string, Record<string, string>> {
  const { databasePasswords: passwords } = secrets;
  const ledger = SERVICES['usage-ledger'].database;
  const toDatabaseUrl = (service: DatabaseService, role: keyof typeof passwords): string =>
    `postgresql://${role}:${passwords[role]}@postgres:5432/${SERVICES[service].database.name}`;
  const keyOf = (service: ServiceName) => ({ INTERNAL_SIGNING_KEY: secrets.internalKeys[service] ?? '' });
  const redis = { REDIS_URL: `redis://:${secrets.redisPassword}@redis:6379` };
  const toRole = (name: keyof typeof passwords) => ({ name, password: passwords[name] });
  const databases = REGION_DATABASE_SERVICES.map((service) => {
    const { database } = SERVICES[service];
    return { ...toRole(database.name), ...('owner' in database && { owner: toRole(database.owner) }) };
  });
  return {
    postgres: { POSTGRES_PASSWORD: secrets.postgresPassword, DATABASES: JSON.stringify(databases) },
    redis: { REDIS_PASSWORD: secrets.redisPassword },
    s3: { S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY: secrets.s3Secret },
    'turnpike-internal': { INTERNAL_PUBLIC_KEYS: toPublicKeys(Object.values(secrets.internalKeys)) },
    auth: { ...keyOf('auth'), DATABASE_URL: toDatabaseUrl('auth', 'auth'), KEY_PEPPERS: secrets.keyPeppers },
    operator: { INTERNAL_SIGNING_KEY: secrets.internalKeys.operator ?? '' },
    edge: { ...keyOf('edge'), ...redis },
    catalog: { ...keyOf('catalog'), ...redis, DATABASE_URL: toDatabaseUrl('catalog', 'catalog') },
    'model-router': { ...keyOf('model-router'), ...redis, CACHE_SALT_KEYS: secrets.cacheSaltKeys },
    'usage-ledger': { ...keyOf('usage-ledger'), DATABASE_URL: toDatabaseUrl('usage-ledger', ledger.name) },
    'migrate-usage-ledger': { DATABASE_URL: toDatabaseUrl('usage-ledger', ledger.owner) },
    'media-jobs': {
      ...keyOf('media-jobs'),
      ...redis,
      DATABASE_URL: toDatabaseUrl('media-jobs', 'media'),
      OBJECT_STORE_ACCESS_KEY_ID: S3_ACCESS_KEY_ID,
      OBJECT_STORE_SECRET_ACCESS_KEY: secrets.s3Secret,
    },
  };
}
