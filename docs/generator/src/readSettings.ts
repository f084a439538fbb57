import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { regionConfig } from '@turnpike/config/commonConfig';
import { limitsOf } from '@turnpike/config/limits';
import { z } from 'zod';
import { repositoryRoot } from './repositoryRoot.ts';

/** One environment variable of a service. */
export interface Setting {
  name: string;
  /** The value if it is not set; undefined if it is required, null if nothing takes its place. */
  fallback: string | null | undefined;
  /** The allowed values, if they are a few words. */
  choices: string[];
  /** The effect: its docstring in the schema. */
  effect: string;
}

export interface ServiceSettings {
  /** Undefined: what every service reads. */
  service: string | undefined;
  settings: Setting[];
  /** The entries of its `LIMITS`. */
  limits: Setting[];
}

/** A docstring, and the variable that it stands above. */
const DOCSTRING_PATTERN = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*([A-Z][A-Z0-9_]*):/g;

/** The settings that every service reads, then each service's own. Throws on one that nothing explains. */
export async function readSettings(): Promise<ServiceSettings[]> {
  const commonSource = await readFile(join(repositoryRoot, 'libs/config/src/commonConfig.ts'), 'utf8');
  const common = toSettings(regionConfig, commonSource, 'libs/config');
  const services = (await readdir(join(repositoryRoot, 'services'))).sort();
  const kept = await readFile(join(repositoryRoot, 'libs/object-store/src/objectStoreSettings.ts'), 'utf8');
  const own = services.map((service) => readOwnSettings(service, kept));
  return [{ service: undefined, settings: common, limits: [] }, ...(await Promise.all(own))];
}

/** The variables of objects are a lib's, and stand among those of each service that keeps some. */
async function readOwnSettings(service: string, sourceOfObjects: string): Promise<ServiceSettings> {
  const file = join(repositoryRoot, 'services', service, 'src/config.ts');
  const { configSchema }: { configSchema?: unknown } = await import(pathToFileURL(file).href);
  if (!(configSchema instanceof z.ZodObject)) throw new Error(`${file} exports no object schema as configSchema`);
  const own = Object.entries(configSchema.shape as z.ZodRawShape).filter(([name]) => !(name in regionConfig));
  const source = (await readFile(file, 'utf8')) + sourceOfObjects;
  return {
    service,
    settings: toSettings(Object.fromEntries(own), source, service),
    limits: toSettings(limitsOf(configSchema.shape), source, service),
  };
}

function toSettings(shape: z.ZodRawShape, source: string, where: string): Setting[] {
  const docstrings = new Map(Array.from(source.matchAll(DOCSTRING_PATTERN), ([, text, name]) => [name, text]));
  return Object.entries(shape).map(([name, type]) => {
    const docstring = docstrings.get(name);
    if (docstring === undefined) throw new Error(`${where}: no docstring says what ${name} does`);
    return { name, ...toFacts(type as z.ZodType), effect: docstring.replace(/\s*\n\s*\* ?/g, ' ').trim() };
  });
}

function toFacts(type: z.ZodType): Pick<Setting, 'fallback' | 'choices'> {
  const unset = type.safeParse(undefined);
  // A prefault is the empty `LIMITS`, whose entries have defaults of their own.
  const value = type instanceof z.ZodPrefault ? undefined : unset.data;
  const fallback = unset.success ? toText(value) : undefined;
  const inner = type instanceof z.ZodDefault ? type.unwrap() : type;
  return { fallback, choices: inner instanceof z.ZodEnum ? inner.options.map(String) : [] };
}

/** A value as it would be set; null for none, which an empty list is too. */
function toText(value: unknown): string | null {
  if (value === undefined) return null;
  return value instanceof Set || Array.isArray(value) ? [...value].join(',') || null : String(value);
}
