import { request } from 'undici';
import { z } from 'zod';
import { StackError } from '../stackError.ts';
import { parseJson, readAtMost } from './readAnswer.ts';

/** For all that an engine is asked before the start. */
const DEADLINE_MS = 5_000;
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

const modelListSchema = z.object({
  data: z.array(
    z.object({
      // Shown and stored, so nothing that could steer a terminal.
      id: z.string().regex(/^\P{Cc}{1,256}$/u),
      owned_by: z.string().optional().catch(undefined),
      max_model_len: z.number().int().positive().optional().catch(undefined),
    }),
  ),
});

/** A model as an engine says it has it. */
export interface DiscoveredModel {
  /** The engine's own name for it. */
  servedName: string;
  /** The window in tokens; undefined where the engine does not say. */
  contextLength: number | undefined;
  category: 'text' | 'multimodal' | 'embeddings';
  /** Features of the catalog that the engine is known to have. */
  features: string[];
}

/** A server that is no vLLM may have no `/health`; that it lists its models says enough. The router takes the same. */
const HEALTHY_STATUSES = [200, 404, 405];

/** Features that vLLM has with every model, because it constrains the output. */
const VLLM_FEATURES = ['json_mode', 'json_schema'];

/**
 * Asks an engine for its models and its health, as the router will. Throws a `StackError` of one line with the address and
 * what was found when it does not answer in time, is not healthy, has no model, or is no engine at all; `signal`'s reason
 * when that is aborted.
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
  // vLLM has the routes of its model's task alone, and answers 405 to the wrong method where there is one.
  const hasRoute = async (path: string) => (await ask(path)).status === 405;
  const embeds = (await hasRoute('/v1/embeddings')) && !(await hasRoute('/v1/chat/completions'));
  return embeds ? models.map((model) => ({ ...model, category: 'embeddings', features: [] })) : models;
}

interface Answer {
  status: number;
  contentType: string;
  /** Undefined when it is longer than an answer may be. */
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
