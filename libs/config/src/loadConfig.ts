import type { z } from 'zod';
import { toProblem } from './toProblem.ts';

/** The mistakes in a process' configuration, one line a variable, to be printed as they stand. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/**
 * Reads a service's environment through its schema.
 * Throws one `ConfigError` naming every wrong variable, so that a misconfigured pod dies at start with a list to mend. One
 * that is empty is wrong too: as a number it would be 0.
 */
export function loadConfig<Schema extends z.ZodObject>(
  service: string,
  schema: Schema,
  env: NodeJS.ProcessEnv,
): z.infer<Schema> {
  const result = schema.safeParse(env, { error: toProblem });
  const empty = Object.keys(schema.shape).filter((name) => env[name] === '');
  if (result.success && empty.length === 0) return result.data;
  const problems = new Map(empty.map((name) => [name, 'is empty: give it a value, or do not set it']));
  for (const { path, message } of result.error?.issues ?? []) {
    const name = path.join('.');
    if (!problems.has(name)) problems.set(name, env[name] === undefined ? 'is not set' : message);
  }
  const lines = Array.from(problems, ([name, problem]) => `  ${name}: ${problem}`);
  throw new ConfigError(`${service} cannot start, its environment is wrong:\n${lines.join('\n')}`);
}
