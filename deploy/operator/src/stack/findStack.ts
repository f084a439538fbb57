import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type SigningKey, signingKeySchema } from '@turnpike/config/internalKeys';
import {
  entryOf,
  forEachOf,
  GLOBAL_SERVICES,
  INTERNAL_SERVICES,
  type InternalService,
} from '@turnpike/config/services';
import { serviceUrlSchema } from '@turnpike/config/sharedSettings';
import { z } from 'zod';
import { RefusedError, UsageError } from '../cli/operatorError.ts';

/** The services that the operator asks: those of a region, then those of all regions. */
export const OPERATED_SERVICES = [...INTERNAL_SERVICES, ...GLOBAL_SERVICES] as const;
export type ServiceName = (typeof OPERATED_SERVICES)[number];

/** The variable that names the internal listener of each service. */
export const SERVICE_VARIABLES = forEachOf(
  OPERATED_SERVICES,
  (service) => `TURNPIKE_${entryOf(service).settings}_INTERNAL_URL` as const,
);

/** How one region's internal listeners are reached, and what people call it. */
export interface StackAccess {
  /** The first port of a local stack; host and port of `auth` for one that the environment names. */
  stack: string;
  region: string;
  /** Absent for a service of all regions that the environment does not name. */
  urls: Record<InternalService, string> & { [Name in ServiceName]?: string | undefined };
  /** The edge's two listeners, for clients and for the fleet. Absent where the stack names none. */
  edge?: { publicUrl: string; internalUrl: string } | undefined;
  /** Signs the operator's calls. */
  signingKey: SigningKey;
}

/** `stack 9800, region us`: where a command reads and writes. */
export const toPlaceText = ({ stack, region }: Pick<StackAccess, 'stack' | 'region'>): string =>
  `stack ${stack}, region ${region}`;

/** Each stack that runs here is described in `<first port>/stack.json` below. */
const STACKS_FOLDER = fileURLToPath(new URL('../../../../.turnpike', import.meta.url));

const service = z.object({ internal_url: z.url(), pid: z.number() });
const stackSchema = z.object({
  /** The first port, or the name of what is no local stack. */
  port_base: z.union([z.number(), z.string()]),
  /** The services that all regions have together; none in a description of regions alone. */
  services: z
    .object(forEachOf(GLOBAL_SERVICES, () => service))
    .partial()
    .default({}),
  regions: z.record(
    z.string(),
    z.object({
      services: z.object({
        ...forEachOf(INTERNAL_SERVICES, () => service),
        edge: service.extend({ url: z.url() }).optional(),
      }),
      secrets_file: z.string(),
    }),
  ),
});
const secretsSchema = z.object({ internalKeys: z.object({ operator: signingKeySchema }) });
const REGION_VARIABLE = 'TURNPIKE_REGION';
const EDGE_VARIABLES = { publicUrl: 'TURNPIKE_EDGE_URL', internalUrl: 'TURNPIKE_EDGE_INTERNAL_URL' } as const;
const REGION_VARIABLES = INTERNAL_SERVICES.map((name) => SERVICE_VARIABLES[name]);
const environmentSchema = z.object({
  urls: z.object({
    ...forEachOf(INTERNAL_SERVICES, () => serviceUrlSchema),
    ...forEachOf(GLOBAL_SERVICES, () => serviceUrlSchema.optional()),
  }),
  [EDGE_VARIABLES.publicUrl]: serviceUrlSchema.optional(),
  [EDGE_VARIABLES.internalUrl]: serviceUrlSchema.optional(),
  [REGION_VARIABLE]: z.string().regex(/^[a-z0-9-]{1,16}$/),
  INTERNAL_SIGNING_KEY: signingKeySchema,
});

export interface StackChoice {
  /** The value of `--stack`: a first port, or a file. */
  stack?: string | undefined;
  /** The value of `--region`. */
  region?: string | undefined;
  env: NodeJS.ProcessEnv;
  stacksFolder?: string;
}

/** The one region to work on, as `findStacks` finds it. Throws a `UsageError` where the stack has several. */
export async function findStack(choice: StackChoice): Promise<StackAccess> {
  const found = await findStacks(choice);
  const name = pickOnlyRegion(found.map(({ region }) => region));
  return found.find(({ region }) => region === name) as StackAccess;
}

/**
 * Returns the regions to work on, or the one that `--region` names. `--stack` names the stack, else `PORT_BASE`, else the service
 * variables. Without these it is the only running stack of this machine. Throws a `UsageError` if several are possible, and a
 * `RefusedError` that says what is missing.
 */
export async function findStacks({
  stack,
  region,
  env,
  stacksFolder = STACKS_FOLDER,
}: StackChoice): Promise<StackAccess[]> {
  if (stack !== undefined && !/^\d+$/.test(stack))
    return readStackFile(stack, region, `${stack} cannot be read: does that stack run?`);
  const isInEnvironment = REGION_VARIABLES.some((name) => env[name] !== undefined);
  const wanted = stack ?? (env.PORT_BASE || undefined);
  if (wanted !== undefined && !/^\d+$/.test(wanted))
    throw new UsageError(`PORT_BASE has to be the first port of a stack, as in PORT_BASE=8080.`);
  if (stack === undefined && wanted !== undefined && isInEnvironment)
    throw new UsageError(
      `PORT_BASE names one stack and ${REGION_VARIABLES.join(', ')} another: unset either, or give --stack.`,
    );
  if (wanted === undefined && isInEnvironment) return [readEnvironment(env, region)];

  const running = await listRunning(stacksFolder);
  const name = wanted ?? pickOnly(running);
  const others = running.length === 0 ? 'none does' : `these do: ${running.join(', ')}`;
  return readStackFile(
    join(stacksFolder, name, 'stack.json'),
    region,
    `No stack runs on port ${name} here; ${others}.`,
  );
}

function pickOnly(running: string[]): string {
  const [first, ...others] = running;
  if (first === undefined) {
    const variables = [...REGION_VARIABLES, REGION_VARIABLE].join(', ');
    throw new RefusedError(
      `No stack runs here: start one with "npm start", name one with --stack FILE, or set ${variables} and INTERNAL_SIGNING_KEY.`,
    );
  }
  if (others.length === 0) return first;
  throw new UsageError(
    `Several stacks run here: ${running.join(', ')}. Say which one is meant: --stack ${first}, or PORT_BASE=${first}.`,
  );
}

/** The first ports of the stacks that run here. A description is left behind where the machine went down. */
async function listRunning(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((): string[] => []);
  const ports = names.filter((name) => /^\d+$/.test(name)).sort((a, b) => Number(a) - Number(b));
  const descriptions = await Promise.all(
    ports.map((port) => readFile(join(folder, port, 'stack.json'), 'utf8').catch(() => undefined)),
  );
  return ports.filter((_port, index) => {
    const text = descriptions[index];
    return text !== undefined && mayRun(text);
  });
}

function mayRun(description: string): boolean {
  const stack = stackSchema.safeParse(parseJson(description));
  // A stack file that cannot be read may belong to a running stack, so it counts as one.
  if (!stack.success) return true;
  const processes = Object.values(stack.data.regions).flatMap(({ services }) => Object.values(services));
  return processes.some((each) => each && isAlive(each.pid));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'; // somebody else's, but there
  }
}

async function readStackFile(file: string, wantedRegion: string | undefined, ifAbsent: string): Promise<StackAccess[]> {
  const { port_base: portBase, services: globals, regions } = await readJson(file, stackSchema, ifAbsent);
  const described = Object.entries(regions).filter(([region]) => region === (wantedRegion ?? region));
  if (described.length === 0)
    throw new RefusedError(
      `Stack ${portBase} has no region ${wantedRegion ?? ''}: ${Object.keys(regions).join(', ')}.`,
    );
  return Promise.all(
    described.map(async ([region, { services, secrets_file: secretsFile }]) => {
      const ifForbidden = `${secretsFile}, which holds the stack's secrets, cannot be read: only its owner may.`;
      const { internalKeys } = await readJson(secretsFile, secretsSchema, ifForbidden);
      return {
        stack: String(portBase),
        region,
        urls: {
          ...forEachOf(INTERNAL_SERVICES, (name) => services[name].internal_url),
          ...forEachOf(GLOBAL_SERVICES, (name) => globals[name]?.internal_url),
        },
        edge: services.edge && { publicUrl: services.edge.url, internalUrl: services.edge.internal_url },
        signingKey: internalKeys.operator,
      };
    }),
  );
}

function pickOnlyRegion(regions: string[]): string {
  const [first = '', ...others] = regions;
  if (others.length === 0) return first;
  throw new UsageError(
    `This stack has several regions: ${regions.join(', ')}. Say which one is meant: --region ${first}.`,
  );
}

async function readJson<Schema extends z.ZodType>(
  file: string,
  schema: Schema,
  ifAbsent: string,
): Promise<z.output<Schema>> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new RefusedError(ifAbsent, { cause: error });
  });
  const result = schema.safeParse(parseJson(text));
  if (result.success) return result.data;
  throw new RefusedError(`${file} does not describe a stack of this version.`, { cause: result.error });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function readEnvironment(env: NodeJS.ProcessEnv, wantedRegion: string | undefined): StackAccess {
  const named = forEachOf(OPERATED_SERVICES, (name) => env[SERVICE_VARIABLES[name]]);
  const result = environmentSchema.safeParse({ ...env, urls: named });
  if (!result.success) {
    const names = new Set(result.error.issues.map(({ path }) => toVariable(path)));
    throw new RefusedError(`These variables are not set, or not to what they must be: ${[...names].join(', ')}.`);
  }
  const { INTERNAL_SIGNING_KEY: signingKey, [REGION_VARIABLE]: region, urls } = result.data;
  if (wantedRegion !== undefined && wantedRegion !== region)
    throw new RefusedError(`The stack that the environment names is of region ${region}, not ${wantedRegion}.`);
  const { [EDGE_VARIABLES.publicUrl]: publicUrl, [EDGE_VARIABLES.internalUrl]: internalUrl } = result.data;
  return {
    stack: new URL(urls.auth).host,
    region,
    urls,
    ...(publicUrl !== undefined && internalUrl !== undefined && { edge: { publicUrl, internalUrl } }),
    signingKey,
  };
}

/** The variable that a problem of the environment is about. */
const toVariable = ([name, service]: PropertyKey[]): string =>
  name === 'urls' ? SERVICE_VARIABLES[service as ServiceName] : String(name);
