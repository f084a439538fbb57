import { loadConfig as loadFrom } from '@turnpike/config/loadConfig';
import { z } from 'zod';

const clientSchema = z.strictObject({
  client_id: z.string().min(1),
  client_secret: z.string().min(32),
  /** The addresses to which a sign-in may lead back. */
  redirect_uris: z.array(z.url()).min(1),
});
/** An application that signs its users in here. */
export type Client = z.infer<typeof clientSchema>;

function parseJson(text: string, context: z.RefinementCtx): unknown {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue({ code: 'custom', message: 'must be a JSON list of clients' });
    return z.NEVER;
  }
}

const configSchema = z.object({
  LISTEN_HOST: z.string().default('127.0.0.1'),
  /** The issuer is `http://localhost:<PORT>`. */
  PORT: z.coerce.number().int().min(1).max(65_535),
  CLIENTS: z.string().transform(parseJson).pipe(z.array(clientSchema).min(1)),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
});

/** Throws one `ConfigError` naming every wrong variable. */
export const loadConfig = (env: NodeJS.ProcessEnv): z.infer<typeof configSchema> =>
  loadFrom('identity-provider', configSchema, env);
