import { toInternalError } from '@turnpike/http-service/createHttpApp';
import { admit, type Guard, openGuard } from '@turnpike/http-service/guard';
import { newUuidV7 } from '@turnpike/http-service/newUuidV7';
import { enterRoute, observeRequest, routeOf } from '@turnpike/http-service/observeRequests';
import { createRequestMetrics } from '@turnpike/http-service/requestMetrics';
import { sendWireError } from '@turnpike/http-service/sendWireError';
import { toRequestLog } from '@turnpike/http-service/toRequestLog';
import type { Logger } from '@turnpike/logging/createLogger';
import { REQUEST_ID_HEADER } from '@turnpike/public-api/headers';
import { flat } from '@turnpike/public-api/wireError';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';

export interface AppDependencies {
  log: Logger;
  telemetry: Pick<Telemetry, 'meter' | 'tracer'>;
}

/** The routes for browsers. Every route has a guard: `serve` takes no route without one, and paths outside the list are 404. */
export function createApp({ log, telemetry }: AppDependencies): Express {
  const metrics = createRequestMetrics(telemetry.meter);
  const app = express();
  app.disable('x-powered-by');
  app.enable('strict routing');
  app.enable('case sensitive routing');
  app.use((_req, res, next) => {
    res.setHeader(REQUEST_ID_HEADER, newUuidV7());
    observeRequest(res, metrics);
    next();
  });

  function serve(method: 'get', path: string, guard: Guard, handler: RequestHandler): void {
    const route = `${method.toUpperCase()} ${path}`;
    const enter: RequestHandler = (_req, res, next) => {
      enterRoute(res, { route, span: telemetry.tracer.startTrace(route) });
      next();
    };
    app[method](path, enter, admit(guard), handler);
  }
  serve('get', '/account/health', openGuard, (_req, res) => void res.json({ status: 'ok' }));

  app.use((_req, res) => sendWireError(res, flat(404, 'not_found', { message: 'There is nothing at this path.' })));
  const onError: ErrorRequestHandler = (error: unknown, _req, res, _next) => {
    toRequestLog(log, res).error({ err: error, route: routeOf(res) }, 'request failed');
    sendWireError(res, toInternalError());
  };
  app.use(onError);
  return app;
}
