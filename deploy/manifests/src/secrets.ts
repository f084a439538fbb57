import { DATABASE_SERVICES, entryOf, SERVICE_NAMES, type ServiceName } from '@turnpike/config/services';
import type { Manifest } from './networkPolicies.ts';

/** Settings that are secret and belong to one service alone, beside its stores. */
const OWN_SECRETS: Record<string, string[]> = {
  auth: ['KEY_PEPPERS'],
  'model-router': ['CACHE_SALT_KEYS'],
  'control-plane': ['OIDC_PROVIDERS', 'PAYMENT_PROCESSOR', 'SMTP_URL'],
  'media-jobs': ['OBJECT_STORE_ACCESS_KEY_ID', 'OBJECT_STORE_SECRET_ACCESS_KEY'],
};

/** Every Secret that the pods of a scope's namespace name, and the keys that it has to have. */
export function listSecrets(scope: 'region' | 'global'): Record<string, string[]> {
  const isIn = (name: ServiceName): boolean => entryOf(name).scope === scope;
  const ofServices = SERVICE_NAMES.filter(isIn).map((name): [string, string[]] => {
    const { database, redis } = entryOf(name);
    const stores = [...(database ? ['DATABASE_URL'] : []), ...(redis ? ['REDIS_URL'] : [])];
    return [name, ['INTERNAL_SIGNING_KEY', ...stores, ...(OWN_SECRETS[name] ?? [])]];
  });
  // A database that another role owns is migrated by that one, whose password the service does not have.
  const ofMigrations = DATABASE_SERVICES.filter((name) => isIn(name) && entryOf(name).database?.owner).map(
    (name): [string, string[]] => [`migrate-${name}`, ['DATABASE_URL']],
  );
  return Object.fromEntries([['turnpike-internal', ['INTERNAL_PUBLIC_KEYS']], ...ofServices, ...ofMigrations]);
}

/** One ExternalSecret for each of them; the namespace's store has an entry of the same name with the same keys. */
export const toExternalSecrets = (scope: 'region' | 'global'): Manifest[] =>
  Object.entries(listSecrets(scope)).map(([name, keys]) => ({
    apiVersion: 'external-secrets.io/v1',
    kind: 'ExternalSecret',
    metadata: { name },
    spec: {
      refreshInterval: '1h',
      secretStoreRef: { kind: 'SecretStore', name: 'turnpike' },
      target: { name },
      data: keys.map((key) => ({ secretKey: key, remoteRef: { key: name, property: key } })),
    },
  }));
