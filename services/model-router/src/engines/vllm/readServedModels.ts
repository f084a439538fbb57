import { z } from 'zod';
import { type EngineConnection, type ServedModels, UnwellEngine } from '../terms/dialect.ts';
import { parseEngineJson } from '../terms/engineJson.ts';
import { askEngine } from './askEngine.ts';

const MAX_BYTES = 1_048_576;
/** Accepted statuses of `/health`. A server other than vLLM may lack the route, and its model list is enough. */
const HEALTHY_STATUSES = new Set([200, 404, 405]);
const modelsSchema = z.object({
  data: z.array(z.looseObject({ id: z.string(), max_model_len: z.number().int().min(1).nullish() })).min(1),
});
const versionSchema = z.object({ version: z.string().max(64) });

/**
 * Returns the models that an engine serves. Throws `UnwellEngine` if it reports that it is unhealthy or lists no model.
 */
export async function readServedModels(pool: EngineConnection, signal: AbortSignal): Promise<ServedModels> {
  const health = await askEngine(pool, { path: '/health', maxBytes: MAX_BYTES, signal });
  if (!HEALTHY_STATUSES.has(health.status)) throw new UnwellEngine(`answered ${health.status} to /health`);
  const { status, bytes } = await askEngine(pool, { path: '/v1/models', maxBytes: MAX_BYTES, signal });
  if (status !== 200) throw new UnwellEngine(`answered ${status} to /v1/models`);
  const listed = modelsSchema.safeParse(parseEngineJson(bytes));
  if (!listed.success) throw new UnwellEngine('lists no models');
  const { data } = listed.data;
  return { names: data.map(({ id }) => id), windowTokens: data[0]?.max_model_len ?? undefined };
}

/** Returns the engine's release, undefined if it is not reported. Rejects if the engine does not answer. */
export async function readVersion(pool: EngineConnection, signal: AbortSignal): Promise<string | undefined> {
  const { bytes } = await askEngine(pool, { path: '/version', maxBytes: MAX_BYTES, signal });
  return versionSchema.safeParse(parseEngineJson(bytes)).data?.version;
}
