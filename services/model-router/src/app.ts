import { createHttpApp } from '@turnpike/http-service/createHttpApp';
import { createMetricsRoute } from '@turnpike/http-service/createMetricsRoute';
import type { Guard } from '@turnpike/http-service/guard';
import { createHealthRoutes } from '@turnpike/http-service/healthRoutes';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import type { Express, RequestHandler } from 'express';
import { toWireError } from './wire/chatError.ts';
import { OPERATION_PATHS } from './wire/inferenceRequest.ts';

export interface Handlers {
  createChatCompletion: RequestHandler;
  createCompletion: RequestHandler;
  createEmbedding: RequestHandler;
  getEngines: RequestHandler;
  getKeySpend: RequestHandler;
  getLiveModels: RequestHandler;
  setKeyGeneration: RequestHandler;
}

/** What the edge proxies to. */
export function createPublicApp({
  handlers,
  keyGuard,
  telemetry,
  log,
}: {
  handlers: Handlers;
  keyGuard: Guard;
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
  telemetry,
  log,
}: {
  handlers: Handlers;
  internalGuard: Guard;
  isReady: () => boolean;
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
      { method: 'get', path: '/internal/models/live', guard: internalGuard, handler: handlers.getLiveModels },
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
