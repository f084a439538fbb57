import { loadConfig as loadFrom } from '@turnpike/config/loadConfig';
import { z } from 'zod';

const portSchema = z.coerce.number().int().min(1).max(65_535);

const configSchema = z.object({
  /** Address of both listeners. */
  LISTEN_HOST: z.string().default('127.0.0.1'),
  /** The page and its JSON. */
  PORT: portSchema,
  SMTP_PORT: portSchema,
  /** Folder of the mails. */
  MAILS_DIR: z.string().min(1),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
});

/** Throws one `ConfigError` naming every wrong variable. */
export const loadConfig = (env: NodeJS.ProcessEnv): z.infer<typeof configSchema> =>
  loadFrom('mail-catcher', configSchema, env);
