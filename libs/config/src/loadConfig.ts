import type { z } from 'zod';
import { type Limits, limitNamesOf } from './limits.ts';
import { toProblem } from './toProblem.ts';

/** The mistakes in a process' configuration, one line a variable, to be printed as they stand. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** The settings of a schema, with each limit of `LIMITS` beside them. */
export type ConfigOf<Schema extends z.ZodObject> = z.infer<Schema> & Limits<z.infer<Schema>>;

/**
 * Reads a service's environment through its schema.
 * Throws one `ConfigError` naming every wrong variable, so that a misconfigured pod dies at start with a list to mend. One
 * that is empty is wrong too: as a number it would be 0. So is an entry of `LIMITS` that is a variable of its own.
 */
export function loadConfig<Schema extends z.ZodObject>(
  service: string,
  schema: Schema,
  env: NodeJS.ProcessEnv,
): ConfigOf<Schema> {
  const result = schema.safeParse(env, { error: toProblem });
  const empty = Object.keys(schema.shape).filter((name) => env[name] === '');
  const misplaced = limitNamesOf(schema).filter((name) => env[name] !== undefined);
  if (result.success && empty.length + misplaced.length === 0) {
    return { ...result.data, ...(result.data.LIMITS ?? {}) } as ConfigOf<Schema>;
  }
  const problems = new Map<string, string>([
    ...empty.map((name) => [name, 'is empty: give it a value, or do not set it'] as const),
    ...misplaced.map((name) => [name, 'must be an entry of LIMITS'] as const),
  ]);
  for (const { path, message } of result.error?.issues ?? []) {
    const name = path.join('.');
    if (!problems.has(name)) problems.set(name, env[String(path[0])] === undefined ? 'is not set' : message);
  }
  const lines = Array.from(problems, ([name, problem]) => `  ${name}: ${problem}`);
  throw new ConfigError(`${service} cannot start, its environment is wrong:\n${lines.join('\n')}`);
}
