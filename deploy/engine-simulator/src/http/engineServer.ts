import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { EngineConfig } from '../config.ts';
import { EngineError, internalError } from '../wire/engineError.ts';
import { VERSION } from '../wire/version.ts';
import type { EngineContext } from './engineContext.ts';
import { getHealth, getLoad, getMetrics, getModels, postDetokenize, postTokenize } from './engineRoutes.ts';
import { postLoadLora, postUnloadLora } from './loraRoutes.ts';
import { postChatCompletions } from './postChatCompletions.ts';
import { postCompletions } from './postCompletions.ts';
import { postEmbeddings } from './postEmbeddings.ts';
import { sendEmpty, sendError, sendJson, sendWrongRoute } from './sendAnswer.ts';

type Route = (req: IncomingMessage, res: ServerResponse, context: EngineContext) => void | Promise<void>;
type Routes = Record<string, Partial<Record<string, Route>>>;

const health: Route = (_req, res, context) => getHealth(res, context);

const commonRoutes: Routes = {
  '/v1/models': { GET: (_req, res, context) => getModels(res, context) },
  '/tokenize': { POST: postTokenize },
  '/detokenize': { POST: postDetokenize },
  '/health': { GET: health },
  '/ping': { GET: health, POST: health },
  '/version': { GET: (_req, res) => sendJson(res, { version: VERSION }) },
  '/load': { GET: (_req, res, context) => getLoad(res, context) },
  '/metrics': { GET: (_req, res, context) => getMetrics(res, context) },
};

const taskRoutes: Record<EngineConfig['task'], Routes> = {
  generate: {
    '/v1/chat/completions': { POST: postChatCompletions },
    '/v1/completions': { POST: postCompletions },
  },
  embed: { '/v1/embeddings': { POST: postEmbeddings } },
};

const loraRoutes: Routes = {
  '/v1/load_lora_adapter': { POST: postLoadLora },
  '/v1/unload_lora_adapter': { POST: postUnloadLora },
};

const sleepRoutes: Routes = {
  '/sleep': {
    POST: (_req, res, { engine }) => {
      engine.sleep();
      sendEmpty(res);
    },
  },
  '/wake_up': {
    POST: (_req, res, { engine }) => {
      engine.wake();
      sendEmpty(res);
    },
  },
  '/is_sleeping': { GET: (_req, res, { engine }) => sendJson(res, { is_sleeping: engine.isSleeping }) },
};

/** As vLLM registers them: by the model's task and by what it was started with. */
const routesOf = ({ task, allowRuntimeLoraUpdating, enableSleepMode }: EngineConfig): Map<string, Routes[string]> =>
  new Map(
    Object.entries({
      ...commonRoutes,
      ...taskRoutes[task],
      ...(allowRuntimeLoraUpdating && loraRoutes),
      ...(enableSleepMode && sleepRoutes),
    }),
  );

/** The public face of one engine. Only what lies under `/v1` wants the key, where there is one. */
export function createEngineListener(context: EngineContext): RequestListener {
  const { engine } = context;
  const { apiKey } = engine.config;
  const routes = routesOf(engine.config);
  return (req, res) => {
    const path = (req.url ?? '').split('?')[0] ?? '';
    if (apiKey !== undefined && path.startsWith('/v1') && req.headers.authorization !== `Bearer ${apiKey}`) {
      sendJson(res, { error: 'Unauthorized' }, 401);
      return;
    }
    const methods = routes.get(path);
    const route = methods?.[req.method ?? ''];
    if (route) void answer(route, req, res, context);
    else sendWrongRoute(res, methods && Object.keys(methods));
  };
}

async function answer(route: Route, req: IncomingMessage, res: ServerResponse, context: EngineContext): Promise<void> {
  try {
    await route(req, res, context);
  } catch (error) {
    if (res.headersSent || res.destroyed) return;
    sendError(res, error instanceof EngineError ? error : internalError(), context.engine.knobs.errorShape);
  }
}
