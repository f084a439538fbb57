import { loadConfig as loadFrom } from '@turnpike/config/loadConfig';
import { z } from 'zod';

const portSchema = z.coerce.number().int().min(1).max(65_535);

const configSchema = z.object({
  /** Address of both listeners. */
  LISTEN_HOST: z.string().default('127.0.0.1'),
  /** The API and the pages. */
  PORT: portSchema,
  /** Listener for tests; nothing that pays knows it. */
  ADMIN_PORT: portSchema,
  /** Address of the pages as browsers know it; `http://localhost:<PORT>` if absent. */
  ORIGIN: z.url().optional(),
  /** The key with which the client calls the API. */
  SECRET_KEY: z.string().min(16),
  /** The endpoint that gets every event, and the secret that signs them. Without it there is none. */
  WEBHOOK_URL: z.url().optional(),
  WEBHOOK_SECRET: z.string().min(16).optional(),
  /** Folder of the state. */
  DATA_DIR: z.string().min(1),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
});

/** Throws one `ConfigError` naming every wrong variable. */
export const loadConfig = (env: NodeJS.ProcessEnv): z.infer<typeof configSchema> =>
  loadFrom('payments-simulator', configSchema, env);
