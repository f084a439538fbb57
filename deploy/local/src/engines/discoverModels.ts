import { request } from 'undici';
import { z } from 'zod';
import { StackError } from '../stackError.ts';
import { parseJson, readAtMost } from './readAnswer.ts';

/** Deadline for all requests to an engine before the start. */
const DEADLINE_MS = 5_000;
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

const modelListSchema = z.object({
  data: z.array(
    z.object({
      // Names are printed and stored, so control characters are refused.
      id: z.string().regex(/^\P{Cc}{1,256}$/u),
      owned_by: z.string().optional().catch(undefined),
      max_model_len: z.number().int().positive().optional().catch(undefined),
    }),
  ),
});

/** A model in an engine's list. */
export interface DiscoveredModel {
  /** The engine's name of the model. */
  servedName: string;
  /** The window in tokens; undefined if the engine does not report it. */
  contextLength: number | undefined;
  category: 'text' | 'multimodal' | 'embeddings';
  /** Catalog features that the engine is known to have. */
  features: string[];
}

/**
 * Accepted statuses of `/health`. A server other than vLLM may lack the route, and its model list is enough. The router
 * accepts the same.
 */
const HEALTHY_STATUSES = [200, 404, 405];

/** Features that vLLM has with every model, because it constrains the output. */
const VLLM_FEATURES = ['json_mode', 'json_schema'];

/**
 * Requests an engine's models and health, like the router. Throws a one-line `StackError` with the address and the
 * finding. That happens if the engine does not answer in time, is unhealthy, has no model, or is no engine at all.
 * Throws `signal`'s reason if it is aborted.
 */
export async function discoverModels(url: string, signal?: AbortSignal): Promise<DiscoveredModel[]> {
  const deadline = AbortSignal.timeout(DEADLINE_MS);
  const ask = async (path: string): Promise<Answer> => {
    try {
      return await get(`${url}${path}`, signal ? AbortSignal.any([signal, deadline]) : deadline);
    } catch (error) {
      signal?.throwIfAborted();
      throw refuse(
        url,
        deadline.aborted ? `did not answer GET ${path} within ${DEADLINE_MS / 1000} s` : toReason(error),
      );
    }
  };
  const models = readModelList(url, await ask('/v1/models'));
  const { status } = await ask('/health');
  if (!HEALTHY_STATUSES.includes(status))
    throw refuse(url, `answered GET /health with status ${status}, and the router sends calls only where that is 200`);
  if (!models.some(({ features }) => features === VLLM_FEATURES)) return models;
  // vLLM has only the routes of its model's task, and answers 405 to the wrong method on one of them.
  const hasRoute = async (path: string) => (await ask(path)).status === 405;
  const embeds = (await hasRoute('/v1/embeddings')) && !(await hasRoute('/v1/chat/completions'));
  return embeds ? models.map((model) => ({ ...model, category: 'embeddings', features: [] })) : models;
}

interface Answer {
  status: number;
  contentType: string;
  /** Undefined if it is longer than `MAX_ANSWER_BYTES`. */
  text: string | undefined;
}

async function get(url: string, signal: AbortSignal): Promise<Answer> {
  const { statusCode: status, headers, body } = await request(url, { signal, reset: true });
  const contentType = String(headers['content-type'] ?? 'no content type').slice(0, 60);
  return { status, contentType, text: await readAtMost(body, MAX_ANSWER_BYTES) };
}

function readModelList(url: string, { status, contentType, text }: Answer): DiscoveredModel[] {
  const found = (what: string) => refuse(url, `answered GET /v1/models with ${what}`);
  if (status === 401 || status === 403) throw found(`status ${status}: it wants a key, and an engine is sent none`);
  if (status !== 200) throw found(`status ${status}`);
  if (text === undefined) throw found(`more than ${MAX_ANSWER_BYTES / 1024 / 1024} MiB`);
  const list = modelListSchema.safeParse(parseJson(text));
  if (!list.success) {
    const isJson = parseJson(text) !== undefined;
    throw found(isJson ? 'JSON that is no list of models' : `what is no JSON (${contentType})`);
  }
  if (list.data.data.length === 0) throw found('an empty list: it has no model loaded');
  return list.data.data.map(({ id, owned_by: owner, max_model_len: contextLength }) => ({
    servedName: id,
    contextLength,
    category: 'text',
    features: owner === 'vllm' ? VLLM_FEATURES : [],
  }));
}

const errorSchema = z.object({ name: z.string().catch(''), code: z.string().catch('') });

function toReason(error: unknown): string {
  const { name, code } = errorSchema.parse(error);
  const what = code || name;
  return /^HTTPParserError$|^HPE_|^UND_ERR_|SSL/.test(what)
    ? `does not speak HTTP as an engine does (${what})`
    : `cannot be reached (${what})`;
}

function refuse(url: string, found: string): StackError {
  return new StackError(`The engine at ${url} ${found}. Start it or mend the address, then start again.`);
}
