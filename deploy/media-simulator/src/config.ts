import { loadConfig as loadFrom } from '@turnpike/config/loadConfig';
import { z } from 'zod';
import { type Knobs, knobsSchema } from './knobs.ts';
import { personalityNameSchema } from './personalities.ts';

const portSchema = z.coerce.number().int().min(1).max(65_535);
const someKnobsSchema = knobsSchema.partial();

/** The JSON text of a variable to its knobs, with every mistake in one message. */
function parseKnobs(text: string, context: z.RefinementCtx): Partial<Knobs> {
  try {
    const knobs = someKnobsSchema.safeParse(JSON.parse(text));
    if (knobs.success) return withoutUndefined(knobs.data);
    const problems = knobs.error.issues.map(({ path, message }) => `${path.join('.') || 'knobs'}: ${message}`);
    context.addIssue({ code: 'custom', message: problems.join('; ') });
  } catch {
    context.addIssue({ code: 'custom', message: 'must be a JSON object of knobs' });
  }
  return z.NEVER;
}

/** A knob that is there and undefined would unset one. */
export const withoutUndefined = (knobs: object): Partial<Knobs> =>
  Object.fromEntries(Object.entries(knobs).filter(([, value]) => value !== undefined));

const configSchema = z.object({
  LISTEN_HOST: z.string().default('127.0.0.1'),
  PORT: portSchema,
  /** Listener for whoever scripts the replica; nothing on the data path knows it. */
  ADMIN_PORT: portSchema,
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  /** Which engine it plays. */
  PERSONALITY: personalityNameSchema,
  /** The name of the one model that it serves. */
  MODEL: z.string().min(1),
  /** The folder of its files and its log. A process that starts with the same folder continues with them. */
  DATA_DIR: z.string().min(1),
  /** `virtual`: time stands still until `POST /admin/advance` moves it. */
  CLOCK: z.enum(['system', 'virtual']).default('system'),
  KNOBS: z.string().default('{}').transform(parseKnobs),
});
export type Config = z.output<typeof configSchema>;

/** Throws one `ConfigError` naming every wrong variable. */
export const loadConfig = (env: NodeJS.ProcessEnv): Config => loadFrom('media-simulator', configSchema, env);
