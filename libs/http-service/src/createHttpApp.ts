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
  /** Exact path, with express parameters (`/v1/models/:id`). Matched as sent: case and trailing slash count. */
  path: string;
  guard: Guard;
  handler: RequestHandler;
}

export interface HttpAppOptions {
  log: Logger;
  /** Counts the requests and follows those that are traced. */
  telemetry: Pick<Telemetry, 'meter' | 'tracer'>;
  routes: Route[];
  /** Takes a line for each request; none where there is no access log. */
  accessLog?: AccessLog | undefined;
  /** Words an error that a handler threw, for the family of the path. Undefined means: not foreseen, a 500. */
  toWireError: (error: unknown, path: string) => WireError | undefined;
}

/** Longest request id taken over from the edge. */
const REQUEST_ID_PATTERN = /^[A-Za-z0-9-]{1,64}$/;

/**
 * A listener that serves exactly the listed routes, by express: `x-request-id` on every answer, 405 with `Allow` on a known path,
 * 404 elsewhere, and no error that could show a stack. Throws if a route names no guard or stands twice.
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

  /** Routes whose path has no parameters, by method and path as most ask for them. Express tries one route after the other. */
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
      // Express would answer it as a page with the stack.
      toRequestLog(log, res).error({ err: errorOfThat, route: routeOf(res) }, 'an error could not be worded');
      sendWireError(res, toInternalError());
    }
  };
  app.use(onError);

  return async (plainReq, plainRes) => {
    const given = plainReq.headers[REQUEST_ID_HEADER];
    // The edge strips the clients' own; on a direct call from inside, a well-formed id is kept for tracing.
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
    // From here on as express does it: the guard, the handler, and what either throws.
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

/** A request and its answer with what express adds to them. */
function toExpress(app: Express, req: IncomingMessage, res: ServerResponse): [Request, Response] {
  const expressReq = Object.setPrototypeOf(req, app.request) as Request;
  const expressRes = Object.setPrototypeOf(res, app.response) as Response;
  expressReq.res = expressRes;
  expressRes.req = expressReq;
  expressReq.params = {};
  expressRes.locals = {};
  return [expressReq, expressRes];
}

/** Says whether express could not decode a parameter of the path. */
export const isUndecodablePath = (error: unknown): boolean => error instanceof Error && error.name === 'URIError';

/** 405 of a known path. `allow` lists the methods it has. */
export function toMethodNotAllowed(method: string, allow: string): WireError {
  const message = `${method.slice(0, 16)} is not supported here; use ${allow}.`;
  return envelope(405, { message, type: 'invalid_request_error', param: null, code: 'method_not_allowed' }, { allow });
}

/** 404 of a path that does not exist. `nearest` is the path that the client may have meant. */
export function toNotFound({ path, nearest }: { path?: string; nearest?: string | undefined } = {}): WireError {
  const hint = nearest === undefined ? 'See the documentation for its paths.' : `Did you mean ${nearest}?`;
  return notServed(`There is nothing at ${path ?? 'this path'}. The API lives under /v1. ${hint}`, 'not_found');
}

/** 500 of a fault nobody foresaw: it says nothing about what failed inside. */
export function toInternalError(headers?: WireError['headers']): WireError {
  return failed('Something failed on our side. Retry with backoff.', headers);
}

/** A log whose lines name the request, and the call once it has an id. Made when there is something to say, not before. */
export function toRequestLog(log: Logger, res: Response): Logger {
  return log.child({ requestId: res.getHeader(REQUEST_ID_HEADER), callId: res.getHeader(CALL_ID_HEADER) });
}

/**
 * A log for the line that a change leaves on an internal route: it names the request, and who asked. What was changed is told by
 * ids, states and amounts; names and notes are customers' own.
 */
export function toChangeLog(log: Logger, res: Response): Logger {
  return toRequestLog(log, res).child({ who: internalCallerOf(res) });
}
