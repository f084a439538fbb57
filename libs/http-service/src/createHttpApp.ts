import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Logger } from '@turnpike/logging/createLogger';
import { ApiError } from '@turnpike/public-api/apiError';
import { CALL_ID_HEADER, REQUEST_ID_HEADER } from '@turnpike/public-api/headers';
import { envelope, failed, notServed, type WireError } from '@turnpike/public-api/wireError';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import express, {
  type ErrorRequestHandler,
  type Express,
  type NextFunction,
  type Request,
  type RequestHandler,
  type Response,
} from 'express';
import { FaultLog } from './faultLog.ts';
import { admit, type Guard, internalCallerOf, toGuardError } from './guard.ts';
import { newUuidV7 } from './newUuidV7.ts';
import type { AccessLog } from './observeRequests.ts';
import {
  beginHandling,
  createRequestMetrics,
  endHandling,
  enterRoute,
  noteFault,
  observeRequest,
  routeOf,
  spanOf,
} from './observeRequests.ts';
import { sendWireError } from './sendWireError.ts';

export interface Route {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** Exact path, with express parameters (`/v1/models/:id`). Case and trailing slash count. */
  path: string;
  guard: Guard;
  handler: RequestHandler;
}

export interface HttpAppOptions {
  log: Logger;
  /** Telemetry for request counts and traces. */
  telemetry: Pick<Telemetry, 'meter' | 'tracer'>;
  routes: Route[];
  /** Receives a line for each request. Undefined without an access log. */
  accessLog?: AccessLog | undefined;
  /**
   * Converts a handler's error to the format of the path's API family. Undefined means an unexpected error, answered
   * with 500.
   */
  toWireError: (error: unknown, path: string) => WireError | undefined;
}

/** Form of a request id that is taken over from the edge. */
const REQUEST_ID_PATTERN = /^[A-Za-z0-9-]{1,64}$/;

/**
 * Creates a listener that serves exactly the listed routes, with express. Every answer has `x-request-id`. A known path
 * with another method is 405 with `Allow`, any other path is 404, and no error shows a stack. Throws if a route has no
 * guard or is listed twice.
 */
export function createHttpApp({ log, telemetry, routes, accessLog, toWireError }: HttpAppOptions): RequestListener {
  const { tracer } = telemetry;
  const metrics = createRequestMetrics(telemetry.meter);
  const faultLog = new FaultLog(log);
  const app = express();
  app.disable('etag');
  app.disable('x-powered-by');
  app.enable('case sensitive routing');
  app.enable('strict routing');

  /** Routes without parameters by method and path, the usual ones, because express tries one route after the other. */
  const exactRoutes = new Map<string, Route>();
  const methodsByPath = new Map<string, string[]>();
  for (const { method, path, guard, handler } of routes) {
    if (typeof guard !== 'function') throw new Error(`route ${method.toUpperCase()} ${path} names no guard`);
    const methods = methodsByPath.get(path) ?? [];
    if (methods.includes(method)) throw new Error(`route ${method.toUpperCase()} ${path} stands twice`);
    methodsByPath.set(path, [...methods, method]);
    const route = `${method.toUpperCase()} ${path}`;
    const enter: RequestHandler = (req, res, next) => {
      enterRoute(res, { route, span: tracer.continueTrace(req.headers.traceparent, route) });
      next();
    };
    if (/^[\w/.-]+$/.test(path)) exactRoutes.set(route, { method, path, guard, handler });
    app[method](path, [enter, admit(guard), handler]);
  }
  for (const [path, methods] of methodsByPath) {
    const allow = methods.map((method) => method.toUpperCase()).join(', ');
    app.all(path, (req, res) => sendWireError(res, toMethodNotAllowed(req.method, allow)));
  }
  app.use((_req, res) => sendWireError(res, toNotFound()));

  function answerError(error: unknown, req: Request, res: Response): void {
    const wireError =
      toGuardError(error) ?? toWireError(error, req.path) ?? (isUndecodablePath(error) ? toNotFound() : undefined);
    const route = routeOf(res);
    const fault = error instanceof ApiError ? error.fault.kind : 'unforeseen';
    metrics.faulted({ route, fault });
    noteFault(res, fault);
    spanOf(res).setAttributes({ 'turnpike.fault': fault });
    const status = wireError?.status ?? 500;
    if (status >= 500) faultLog.write(toRequestLog(log, res), error, { route, status });
    sendWireError(res, wireError ?? toInternalError());
  }
  const onError: ErrorRequestHandler = (error: unknown, req, res, _next) => {
    try {
      answerError(error, req, res);
    } catch (errorOfThat) {
      // Express would send a page with the stack.
      toRequestLog(log, res).error({ err: errorOfThat, route: routeOf(res) }, 'an error could not be worded');
      sendWireError(res, toInternalError());
    }
  };
  app.use(onError);

  return async (plainReq, plainRes) => {
    const given = plainReq.headers[REQUEST_ID_HEADER];
    // The edge removes clients' ids. On a direct internal call a well-formed id is kept for tracing.
    const requestId = typeof given === 'string' && REQUEST_ID_PATTERN.test(given) ? given : newUuidV7();
    plainRes.setHeader(REQUEST_ID_HEADER, requestId);
    observeRequest(plainRes, metrics, accessLog);
    const [path = ''] = plainReq.url?.split('?', 1) ?? [];
    const route = `${plainReq.method} ${path}`;
    const exact = exactRoutes.get(route);
    if (!exact) {
      app(plainReq, plainRes);
      return;
    }
    // From here the steps are those of express: the guard, the handler, and the errors of either.
    const [req, res] = toExpress(app, plainReq, plainRes);
    const next: NextFunction = (error?: unknown) => {
      if (error) onError(error, req, res, next);
    };
    try {
      beginHandling(res, { route, span: tracer.continueTrace(req.headers.traceparent, route) });
      res.locals.principal = await exact.guard(req);
      await exact.handler(req, res, next);
    } catch (error) {
      onError(error, req, res, next);
    } finally {
      endHandling(res);
    }
  };
}

/** Adds to a request and its answer what express adds. */
function toExpress(app: Express, req: IncomingMessage, res: ServerResponse): [Request, Response] {
  const expressReq = Object.setPrototypeOf(req, app.request) as Request;
  const expressRes = Object.setPrototypeOf(res, app.response) as Response;
  expressReq.res = expressRes;
  expressRes.req = expressReq;
  expressReq.params = {};
  expressRes.locals = {};
  return [expressReq, expressRes];
}

/** Returns whether express could not decode a parameter of the path. */
export const isUndecodablePath = (error: unknown): boolean => error instanceof Error && error.name === 'URIError';

/** Returns the 405 for a known path. `allow` lists its methods. */
export function toMethodNotAllowed(method: string, allow: string): WireError {
  const message = `${method.slice(0, 16)} is not supported here; use ${allow}.`;
  return envelope(405, { message, type: 'invalid_request_error', param: null, code: 'method_not_allowed' }, { allow });
}

/** Returns the 404 for an unknown path. `nearest` is the path that the client may have meant. */
export function toNotFound({ path, nearest }: { path?: string; nearest?: string | undefined } = {}): WireError {
  const hint = nearest === undefined ? 'See the documentation for its paths.' : `Did you mean ${nearest}?`;
  return notServed(`There is nothing at ${path ?? 'this path'}. The API lives under /v1. ${hint}`, 'not_found');
}

/** Returns the 500 for an unexpected error, without internal details. */
export function toInternalError(headers?: WireError['headers']): WireError {
  return failed('Something failed on our side. Retry with backoff.', headers);
}

/** Creates a log whose lines name the request, and the call once it has an id. Created for a line, not before. */
export function toRequestLog(log: Logger, res: Response): Logger {
  return log.child({ requestId: res.getHeader(REQUEST_ID_HEADER), callId: res.getHeader(CALL_ID_HEADER) });
}

/**
 * Creates a log for the line of a change on an internal route, with the request and the caller. The line identifies
 * changes by ids, states and amounts, because names and notes are customers' data.
 */
export function toChangeLog(log: Logger, res: Response): Logger {
  return toRequestLog(log, res).child({ who: internalCallerOf(res) });
}
