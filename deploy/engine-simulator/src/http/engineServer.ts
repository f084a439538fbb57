import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { EngineConfig } from '../config.ts';
import { EngineError, internalError } from '../wire/engineError.ts';
import type { EngineContext } from './engineContext.ts';
import { getHealth, getMetrics, getModels, postTokenize } from './engineRoutes.ts';
import { VERSION } from './generation.ts';
import { postChatCompletions } from './postChatCompletions.ts';
import { postCompletions } from './postCompletions.ts';
import { postEmbeddings } from './postEmbeddings.ts';
import { sendError, sendJson, sendWrongRoute } from './sendAnswer.ts';

type Route = (req: IncomingMessage, res: ServerResponse, context: EngineContext) => void | Promise<void>;
type Routes = Record<string, Partial<Record<string, Route>>>;

const commonRoutes: Routes = {
  '/v1/models': { GET: (_req, res, context) => getModels(res, context) },
  '/tokenize': { POST: postTokenize },
  '/health': { GET: (_req, res, context) => getHealth(res, context) },
  '/version': { GET: (_req, res) => sendJson(res, { version: VERSION }) },
  '/metrics': { GET: (_req, res, context) => getMetrics(res, context) },
};

/** The routes that vLLM registers for each task of a model. */
const taskRoutes: Record<EngineConfig['task'], Routes> = {
  generate: {
    '/v1/chat/completions': { POST: postChatCompletions },
    '/v1/completions': { POST: postCompletions },
  },
  embed: { '/v1/embeddings': { POST: postEmbeddings } },
};

/** The public face of one engine. */
export function createEngineListener(context: EngineContext): RequestListener {
  const routes = new Map(Object.entries({ ...commonRoutes, ...taskRoutes[context.engine.config.task] }));
  return (req, res) => {
    const methods = routes.get((req.url ?? '').split('?')[0] ?? '');
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
    sendError(res, error instanceof EngineError ? error : internalError());
  }
}
