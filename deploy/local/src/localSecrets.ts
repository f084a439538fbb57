import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { generateApiKey } from '@turnpike/api-keys/apiKey';
import { generateSigningKey, toPublicKey } from '@turnpike/config/internalKeys';
import type { Scope } from '@turnpike/config/region';
import {
  DATABASE_SERVICES,
  type DatabaseService,
  entryOf,
  SERVICE_NAMES,
  SERVICES,
  type ServiceName,
} from '@turnpike/config/services';
import { z } from 'zod';
import { StackError } from './stackError.ts';

type Database = (typeof SERVICES)[DatabaseService]['database'];
/** The database roles of services and of their migrations. */
export type DatabaseRole = Database['name'] | Extract<Database, { owner: string }>['owner'];
const rolesOf = (services: readonly ServiceName[]): DatabaseRole[] =>
  DATABASE_SERVICES.filter((service) => services.includes(service)).flatMap((service) => {
    const { database } = SERVICES[service];
    return 'owner' in database ? [database.name, database.owner] : [database.name];
  });

const secretSchema = z.string().min(32);

const localSecretsSchema = z.object({
  /** The signing keys of the services and of the operator, by name. */
  internalKeys: z.record(z.string(), secretSchema),
  /** Each of these two is `id:secret`, as the services read them. */
  keyPeppers: secretSchema,
  cacheSaltKeys: secretSchema,
  postgresPassword: secretSchema,
  /** The passwords of the database roles, by role. */
  databasePasswords: z.partialRecord(z.enum(rolesOf(SERVICE_NAMES)), secretSchema),
  redisPassword: secretSchema,
  /** Signs requests to the S3 server, if there is one. */
  s3Secret: secretSchema,
  /** The account layer's secret at the identity provider. Absent where the account layer runs elsewhere. */
  oidcClientSecret: secretSchema.optional(),
  /** The account layer's key at the payments simulator, and the secret that signs its webhooks. */
  paymentsKey: secretSchema.optional(),
  webhookSecret: secretSchema.optional(),
  /** The key of the seeded workspace, stored so that a restart prints the same one. */
  apiKey: z.string(),
});
export type LocalSecrets = z.infer<typeof localSecretsSchema>;

/**
 * Returns the secrets of these services of a local stack. The first start creates them, in a file that only its owner
 * may read. `dataDirs` are folders of data that these secrets open. Throws a `StackError` if one of them exists without
 * the file, because its data cannot be opened any more.
 */
export async function loadLocalSecrets(
  file: string,
  { scope, services, dataDirs }: { scope: Scope; services: readonly ServiceName[]; dataDirs: string[] },
): Promise<LocalSecrets> {
  const startAfresh = `To start afresh, remove ${dirname(file)}.`;
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text !== undefined) {
    try {
      const kept = JSON.parse(text);
      const secrets = localSecretsSchema.parse({
        internalKeys: makeInternalKeys(scope, services),
        ...makeAccountSecrets(services),
        ...kept,
      });
      // A file of an earlier version lacks some secrets.
      if (Object.keys(kept).length < Object.keys(secrets).length) await writeSecretsFile(file, secrets);
      if (secrets.internalKeys.operator?.startsWith(`${scope}/`)) return secrets;
    } catch (error) {
      throw new StackError(`${file} does not hold this stack's secrets. ${startAfresh}`, { cause: error });
    }
    throw new StackError(
      `${file} has the secrets of another region than ${scope}. Choose another PORT_BASE. ${startAfresh}`,
    );
  }
  if (dataDirs.some((dataDir) => existsSync(dataDir)))
    throw new StackError(`${file}, which opens the data beside it, is gone. ${startAfresh}`);
  const secrets = makeSecrets(scope, services);
  await mkdir(dirname(file), { recursive: true });
  await writeSecretsFile(file, secrets);
  return secrets;
}

async function writeSecretsFile(file: string, secrets: LocalSecrets): Promise<void> {
  await writeFile(`${file}.partial`, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
  await rename(`${file}.partial`, file);
}

/** Creates a key for each of these services, in its own scope, and for the operator of this one. */
function makeInternalKeys(scope: Scope, services: readonly ServiceName[]): Record<string, string> {
  const toKey = (name: ServiceName | 'operator') => {
    const isGlobal = name !== 'operator' && entryOf(name).scope === 'global';
    return [name, generateSigningKey(`${isGlobal ? 'global' : scope}/${name}`)];
  };
  return Object.fromEntries([...services, 'operator' as const].map(toKey));
}

/** Returns the setting with which a service verifies calls: the public keys of all permitted callers. */
export const toPublicKeys = (signingKeys: string[]): string => signingKeys.map(toPublicKey).join(',');

const makeSecret = (): string => randomBytes(32).toString('hex');

const makeAccountSecrets = (services: readonly ServiceName[]) =>
  services.includes('control-plane')
    ? {
        oidcClientSecret: makeSecret(),
        paymentsKey: `sk_test_${makeSecret()}`,
        webhookSecret: `whsec_${makeSecret()}`,
      }
    : {};

function makeSecrets(scope: Scope, services: readonly ServiceName[]): LocalSecrets {
  return {
    internalKeys: makeInternalKeys(scope, services),
    keyPeppers: `local1:${makeSecret()}`,
    cacheSaltKeys: `local1:${makeSecret()}`,
    postgresPassword: makeSecret(),
    databasePasswords: Object.fromEntries(rolesOf(services).map((role) => [role, makeSecret()])),
    redisPassword: makeSecret(),
    s3Secret: makeSecret(),
    ...makeAccountSecrets(services),
    apiKey: generateApiKey(),
  };
}
