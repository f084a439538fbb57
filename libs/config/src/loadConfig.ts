import type { z } from 'zod';

/** What is wrong with a process' configuration, one line a variable, worth printing as it stands. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/**
 * Reads a service's environment through its schema.
 * Throws one `ConfigError` naming every wrong variable, so that a misconfigured pod dies at start with a list to mend.
 */
export function loadConfig<Schema extends z.ZodType>(
  service: string,
  schema: Schema,
  env: NodeJS.ProcessEnv,
): z.infer<Schema> {
  const result = schema.safeParse(env);
  if (result.success) return result.data;
  const lines = result.error.issues.map((issue) => {
    const name = issue.path.join('.');
    const problem = env[name] === undefined ? 'is not set' : issue.message;
    return `  ${name}: ${problem}`;
  });
  throw new ConfigError(`${service} cannot start, its environment is wrong:\n${[...new Set(lines)].join('\n')}`);
}
