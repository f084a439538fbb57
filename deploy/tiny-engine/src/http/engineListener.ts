import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Logger } from '@turnpike/logging/createLogger';
import type { TinyEngine } from '../inference/tinyEngine.ts';
import { EngineError, internalError, wrongRoute } from '../wire/engineError.ts';
import { postChatCompletions, postCompletions } from './inferenceRoutes.ts';
import { getMetrics, getModels, postTokenize } from './modelRoutes.ts';
import { sendError } from './sendAnswer.ts';

type Route = (req: IncomingMessage, res: ServerResponse, engine: TinyEngine) => void | Promise<void>;

const routes = new Map<string, { method: string; route: Route }>([
  ['/v1/chat/completions', { method: 'POST', route: postChatCompletions }],
  ['/v1/completions', { method: 'POST', route: postCompletions }],
  ['/v1/models', { method: 'GET', route: (_req, res) => getModels(res) }],
  ['/tokenize', { method: 'POST', route: postTokenize }],
  ['/health', { method: 'GET', route: (_req, res) => void res.writeHead(200, { 'content-length': 0 }).end() }],
  ['/metrics', { method: 'GET', route: (_req, res, engine) => getMetrics(res, engine) }],
]);

/** Serves the engine's paths; whatever a route throws becomes an answer in vLLM's shape. */
export function createEngineListener({ engine, log }: { engine: TinyEngine; log: Logger }): RequestListener {
  return async (req, res) => {
    const entry = routes.get((req.url ?? '').split('?')[0] ?? '');
    try {
      if (!entry) throw wrongRoute(404);
      if (entry.method !== req.method) throw wrongRoute(405);
      await entry.route(req, res, engine);
    } catch (error) {
      const isRefusal = error instanceof EngineError;
      if (!isRefusal && !res.destroyed) log.error({ err: error, path: req.url }, 'request failed');
      if (!res.headersSent && !res.destroyed) sendError(res, isRefusal ? error : internalError());
    }
  };
}
