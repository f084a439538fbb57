import { loadConfig as loadFrom } from '@turnpike/config/loadConfig';
import { z } from 'zod';

const configSchema = z.object({
  LISTEN_HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce.number().pipe(z.int('must be a port number').min(1).max(65_535)),
  /** Folder for the model file; made if it is not there. */
  STATE_DIR: z.string().min(1),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
});
export type Config = z.output<typeof configSchema>;

/** Throws one `ConfigError` naming every wrong variable. */
export const loadConfig = (env: NodeJS.ProcessEnv): Config => loadFrom('tiny-engine', configSchema, env);
