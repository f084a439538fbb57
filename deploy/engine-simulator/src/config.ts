import { loadConfig as loadFrom } from '@turnpike/config/loadConfig';
import { z } from 'zod';
import { BLOCK_TOKENS, blocksFor } from './engine/prefixCache.ts';
import { DEFAULT_KNOBS, knobsSchema } from './knobs.ts';

const portSchema = z.int().min(1).max(65_535);
const portTextSchema = z.coerce.number().pipe(portSchema);

/** One engine: one served model on one port, as a vLLM process. */
export const engineSchema = z
  .strictObject({
    port: portSchema,
    /** Names the model answers to; the first is the one in its answers. */
    servedModelNames: z.array(z.string().min(1)).min(1),
    /** The `root` of `GET /v1/models`: the model's path or hub id. Default: the first served name. */
    root: z.string().min(1).optional(),
    /** The window: prompt and output tokens together. */
    maxModelLen: z.int().min(BLOCK_TOKENS).max(10_000_000).default(131_072),
    /** The purpose of the model. The routes of the other task do not exist. */
    task: z.enum(['generate', 'embed']).default('generate'),
    /** Length of a vector, on an engine that embeds. */
    embeddingDimensions: z.int().min(1).max(65_536).default(1_024),
    /** Name of the parser that splits thinking from content; such a model thinks before it answers. */
    reasoningParser: z.string().min(1).optional(),
    /** Images allowed in one prompt; 0 is a text model. */
    maxImagesPerPrompt: z.int().min(0).default(16),
    /** Blocks of 16 tokens in the key-value cache. Default: two windows, at least 16,384 blocks. */
    numKvBlocks: z.int().min(1).optional(),
    ...knobsSchema.partial().shape,
  })
  .transform(({ root, numKvBlocks, ...given }) => {
    const servedModelName = given.servedModelNames[0] ?? '';
    return {
      ...given,
      servedModelName,
      root: root ?? servedModelName,
      numKvBlocks: numKvBlocks ?? Math.max(16_384, 2 * blocksFor(given.maxModelLen)),
      knobs: z.object(knobsSchema.shape).parse({ ...DEFAULT_KNOBS, ...given }),
    };
  })
  .refine(({ numKvBlocks, maxModelLen }) => numKvBlocks >= blocksFor(maxModelLen), {
    path: ['numKvBlocks'],
    message: 'must hold one whole window: at least maxModelLen / 16',
  });
export type EngineConfig = z.output<typeof engineSchema>;

const enginesSchema = z.array(engineSchema).min(1, 'must name at least one engine');

/** The JSON text of a variable to its value, with the place of every mistake in one message. */
function parseEngines(text: string, context: z.RefinementCtx): EngineConfig[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    context.addIssue({ code: 'custom', message: 'must be a JSON list of engines' });
    return z.NEVER;
  }
  const engines = enginesSchema.safeParse(value);
  if (engines.success) return engines.data;
  const problems = engines.error.issues.map(({ path, message }) => `${path.join('.') || 'list'}: ${message}`);
  context.addIssue({ code: 'custom', message: problems.join('; ') });
  return z.NEVER;
}

const configSchema = z.object({
  LISTEN_HOST: z.string().default('127.0.0.1'),
  /** Listener for tests and scripts. The data path does not use it. */
  ADMIN_PORT: portTextSchema,
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  SIMULATOR_ENGINES: z.string().transform(parseEngines),
});
export type Config = z.output<typeof configSchema>;

/** Throws one `ConfigError` naming every wrong variable. */
export const loadConfig = (env: NodeJS.ProcessEnv): Config => loadFrom('engine-simulator', configSchema, env);
