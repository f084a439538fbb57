import { generateSigningKey, toPublicKey } from '@turnpike/config/internalKeys';
import { listSecrets } from '../src/secrets.ts';
import type { Container, Rendered } from './renderManifests.ts';

const NAMED_SECRET = `k1:${'0123456789abcdef'.repeat(2)}`;
const SIGNING_KEY = generateSigningKey('us/edge');
/** Values that have the form of the secret ones. */
const PLACEHOLDERS: Record<string, string> = {
  OIDC_PROVIDERS:
    '[{"id":"company","name":"Company","issuer":"https://id.example.com","client_id":"turnpike","client_secret":"a secret"}]',
  PAYMENT_PROCESSOR: JSON.stringify({
    ...{ secret_key: 'sk_live_0123456789abcdef', webhook_secrets: ['whsec_0123456789abcdef'] },
    documents: {
      ...{ url: 'https://s3.example.com', region: 'us-east-1', bucket: 'documents' },
      ...{ access_key_id: 'access-key', secret_access_key: 'secret-key' },
    },
  }),
  SMTP_URL: 'smtps://turnpike:password@mail.example.com:465',
  INTERNAL_SIGNING_KEY: SIGNING_KEY,
  INTERNAL_PUBLIC_KEYS: toPublicKey(SIGNING_KEY),
  KEY_PEPPERS: NAMED_SECRET,
  CACHE_SALT_KEYS: NAMED_SECRET,
  DATABASE_URL: 'postgresql://role:secret@postgres:5432/database',
  REDIS_URL: 'redis://:secret@redis:6379',
  OBJECT_STORE_ACCESS_KEY_ID: 'access-key',
  OBJECT_STORE_SECRET_ACCESS_KEY: 'secret-key',
};

/** The environment of a container as the kubelet would make it, with placeholders for secrets. Throws on what is not there. */
export function environmentOf({ env = [], envFrom = [] }: Container, manifests: Rendered[]): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const { configMapRef, secretRef } of envFrom) {
    if (configMapRef) Object.assign(environment, dataOf(configMapRef.name, manifests));
    for (const key of secretRef ? keysOf(secretRef.name) : []) environment[key] = toPlaceholder(key);
  }
  for (const { name, value, valueFrom } of env) {
    if (valueFrom && !keysOf(valueFrom.secretKeyRef.name).includes(valueFrom.secretKeyRef.key))
      throw new Error(`the Secret ${valueFrom.secretKeyRef.name} has no key ${valueFrom.secretKeyRef.key}`);
    environment[name] = valueFrom ? toPlaceholder(valueFrom.secretKeyRef.key) : (value ?? '');
  }
  return environment;
}

/** Returns the data of a ConfigMap. */
export function dataOf(name: string, manifests: Rendered[]): Record<string, string> {
  const found = manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === name);
  if (!found?.data) throw new Error(`there is no ConfigMap ${name}`);
  return found.data;
}

function keysOf(secret: string): string[] {
  const keys = { ...listSecrets('global'), ...listSecrets('region') }[secret];
  if (!keys) throw new Error(`the Secret ${secret} is not listed`);
  return keys;
}

function toPlaceholder(key: string): string {
  const value = PLACEHOLDERS[key];
  if (value === undefined) throw new Error(`the secret ${key} has no placeholder here`);
  return value;
}
