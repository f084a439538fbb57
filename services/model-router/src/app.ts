import { createHttpApp, type HttpAppOptions } from '@turnpike/http-service/createHttpApp';
import { createMetricsRoute } from '@turnpike/http-service/createMetricsRoute';
import type { Guard } from '@turnpike/http-service/guard';
import { createHealthRoutes } from '@turnpike/http-service/healthRoutes';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import type { Express, RequestHandler } from 'express';
import { OPERATION_PATHS } from './request/inferenceRequest.ts';

type ToWireError = HttpAppOptions['toWireError'];

export interface Handlers {
  createChatCompletion: RequestHandler;
  createCompletion: RequestHandler;
  createEmbedding: RequestHandler;
  drainEngine: RequestHandler;
  getEngines: RequestHandler;
  getKeySpend: RequestHandler;
  getLiveModels: RequestHandler;
  getWorkspaceBooks: RequestHandler;
  reloadBalances: RequestHandler;
  setKeyGeneration: RequestHandler;
  undrainEngine: RequestHandler;
}

/** What the edge proxies to. */
export function createPublicApp({
  handlers,
  keyGuard,
  toWireError,
  telemetry,
  log,
}: {
  handlers: Handlers;
  keyGuard: Guard;
  toWireError: ToWireError;
  telemetry: Telemetry;
  log: Logger;
}): Express {
  return createHttpApp({
    log,
    telemetry,
    toWireError,
    routes: [
      { method: 'post', path: OPERATION_PATHS.chat, guard: keyGuard, handler: handlers.createChatCompletion },
      { method: 'post', path: OPERATION_PATHS.completions, guard: keyGuard, handler: handlers.createCompletion },
      { method: 'post', path: OPERATION_PATHS.embeddings, guard: keyGuard, handler: handlers.createEmbedding },
    ],
  });
}

/** What the fleet alone reaches. */
export function createInternalApp({
  handlers,
  internalGuard,
  isReady,
  toWireError,
  telemetry,
  log,
}: {
  handlers: Handlers;
  internalGuard: Guard;
  isReady: () => boolean;
  toWireError: ToWireError;
  telemetry: Telemetry;
  log: Logger;
}): Express {
  return createHttpApp({
    log,
    telemetry,
    toWireError,
    routes: [
      ...createHealthRoutes(isReady),
      createMetricsRoute(telemetry),
      { method: 'get', path: '/internal/engines', guard: internalGuard, handler: handlers.getEngines },
      {
        method: 'post',
        path: '/internal/engines/:engine_id/drain',
        guard: internalGuard,
        handler: handlers.drainEngine,
      },
      {
        method: 'post',
        path: '/internal/engines/:engine_id/undrain',
        guard: internalGuard,
        handler: handlers.undrainEngine,
      },
      { method: 'get', path: '/internal/models/live', guard: internalGuard, handler: handlers.getLiveModels },
      {
        method: 'get',
        path: '/internal/workspaces/:workspace_id/books',
        guard: internalGuard,
        handler: handlers.getWorkspaceBooks,
      },
      {
        method: 'post',
        path: '/internal/workspaces/:workspace_id/balances/reload',
        guard: internalGuard,
        handler: handlers.reloadBalances,
      },
      {
        method: 'get',
        path: '/internal/workspaces/:workspace_id/keys/:key_id/spend',
        guard: internalGuard,
        handler: handlers.getKeySpend,
      },
      {
        method: 'put',
        path: '/internal/workspaces/:workspace_id/keys/:key_id/generation',
        guard: internalGuard,
        handler: handlers.setKeyGeneration,
      },
    ],
  });
}
