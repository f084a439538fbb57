import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type NamedSecret, parseSecrets } from '@turnpike/config/secrets';
import { z } from 'zod';
import { RefusedError } from '../cli/operatorError.ts';
import { SERVICE_VARIABLES, type ServiceName } from './services.ts';

/** How a stack's internal listeners are reached. */
export interface StackAccess {
  urls: Record<ServiceName, string>;
  /** What signs the operator's calls. */
  tokenKeys: NamedSecret[];
}

/** Where a local stack that runs is described; leads to the latest of several. */
const LATEST_STACK_FILE = fileURLToPath(new URL('../../../../.turnpike/stack.json', import.meta.url));

const internalUrl = z.object({ internal_url: z.url() }).transform(({ internal_url: url }) => url);
const stackSchema = z.object({
  regions: z.object({
    us: z.object({
      services: z.object({
        auth: internalUrl,
        catalog: internalUrl,
        'model-router': internalUrl,
        'usage-ledger': internalUrl,
      }),
      secrets_file: z.string(),
    }),
  }),
});
const tokenKeys = z.string().transform(parseSecrets);
const secretsSchema = z.object({ internalTokenKeys: tokenKeys });
const environmentSchema = z.object({
  [SERVICE_VARIABLES.auth]: z.url(),
  [SERVICE_VARIABLES.catalog]: z.url(),
  [SERVICE_VARIABLES['model-router']]: z.url(),
  [SERVICE_VARIABLES['usage-ledger']]: z.url(),
  INTERNAL_TOKEN_KEYS: tokenKeys,
});

/**
 * The stack to work on: that of a given `stack.json`, else the one that the environment names, else the latest local one
 * that runs. Throws a `RefusedError` that says what is missing.
 */
export async function findStack({
  stackFile,
  env,
}: {
  stackFile: string | undefined;
  env: NodeJS.ProcessEnv;
}): Promise<StackAccess> {
  if (stackFile !== undefined) return readStackFile(stackFile, `${stackFile} cannot be read: does that stack run?`);
  if (Object.values(SERVICE_VARIABLES).some((name) => env[name] !== undefined)) return readEnvironment(env);
  const variables = Object.values(SERVICE_VARIABLES).join(', ');
  return readStackFile(
    LATEST_STACK_FILE,
    `No stack runs here: start one with "npm start", name one with --stack FILE, or set ${variables} and INTERNAL_TOKEN_KEYS.`,
  );
}

async function readStackFile(file: string, ifAbsent: string): Promise<StackAccess> {
  const { regions } = await readJson(file, stackSchema, ifAbsent);
  const { services, secrets_file: secretsFile } = regions.us;
  const ifForbidden = `${secretsFile}, which holds the stack's secrets, cannot be read: only its owner may.`;
  const { internalTokenKeys } = await readJson(secretsFile, secretsSchema, ifForbidden);
  return { urls: services, tokenKeys: internalTokenKeys };
}

async function readJson<Schema extends z.ZodType>(
  file: string,
  schema: Schema,
  ifAbsent: string,
): Promise<z.output<Schema>> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new RefusedError(ifAbsent, { cause: error });
  });
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    throw new RefusedError(`${file} does not describe a stack of this version.`, { cause: error });
  }
}

function readEnvironment(env: NodeJS.ProcessEnv): StackAccess {
  const result = environmentSchema.safeParse(env);
  if (!result.success) {
    const names = new Set(result.error.issues.map(({ path }) => path.join('.')));
    throw new RefusedError(`These variables are not set, or not to what they must be: ${[...names].join(', ')}.`);
  }
  const { INTERNAL_TOKEN_KEYS, ...urls } = result.data;
  return {
    urls: {
      auth: urls.TURNPIKE_AUTH_INTERNAL_URL,
      catalog: urls.TURNPIKE_CATALOG_INTERNAL_URL,
      'model-router': urls.TURNPIKE_ROUTER_INTERNAL_URL,
      'usage-ledger': urls.TURNPIKE_LEDGER_INTERNAL_URL,
    },
    tokenKeys: INTERNAL_TOKEN_KEYS,
  };
}
