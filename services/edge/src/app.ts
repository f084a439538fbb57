import type { RequestListener } from 'node:http';
import type { NamedSecret } from '@turnpike/config/secrets';
import { toInternalError, toMethodNotAllowed, toNotFound } from '@turnpike/http-service/createHttpApp';
import { toMalformedRequest } from '@turnpike/http-service/malformedRequest';
import { enterRoute, observeRequests } from '@turnpike/http-service/observeRequests';
import { createRequestMetrics } from '@turnpike/http-service/requestMetrics';
import { sendWireError } from '@turnpike/http-service/sendWireError';
import { CLIENT_ADDRESS_HEADER, signClientAddress } from '@turnpike/internal-auth/clientAddress';
import { REQUEST_ID_HEADER } from '@turnpike/public-api/headers';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import express, { type Request, type RequestHandler, type Response } from 'express';
import { v7 as uuidv7 } from 'uuid';
import { createRefuse, type Refuse } from './api/refuse.ts';
import { createFloodGate, type FloodLimit } from './flood/createFloodGate.ts';
import { findClientAddress } from './flood/findClientAddress.ts';
import { countHeaders, MAX_HEADERS, toUpstreamHeaders } from './headers/requestHeaders.ts';
import { findUnsupportedOperation } from './paths/findUnsupportedOperation.ts';
import { findListedPaths, listPaths } from './paths/listedPaths.ts';
import type { Upstream } from './paths/upstream.ts';
import type { UpstreamProxy } from './proxy/createUpstreamProxy.ts';

export interface AppDependencies {
  telemetry: Pick<Telemetry, 'meter' | 'tracer'>;
  proxies: Record<Upstream, UpstreamProxy>;
  /** Keys that sign the client's address for the services behind. */
  tokenKeys: NamedSecret[];
  trustedHops: number;
  floodLimit: FloodLimit;
  serviceSegment: string;
}

/** Stands for a target that is no path, such as a whole address; it is not on the list of paths. */
const NO_PATH = '/';
/** A fragment is not sent by any client that knows what it is. */
const PATH = /^\/[^\s#]*$/;

/** The public face of a region: flood limit, then the list of paths, then the service behind the path. */
export function createApp(dependencies: AppDependencies): RequestListener {
  const metrics = createRequestMetrics(dependencies.telemetry.meter);
  const app = express();
  app.disable('etag');
  app.disable('x-powered-by');
  app.use(nameRequest);
  app.use(observeRequests(metrics));
  const refuse = createRefuse(metrics);
  app.use(createFloodGate({ limit: dependencies.floodLimit, trustedHops: dependencies.trustedHops, refuse }));
  app.use(refuseAmbiguousHeaders);
  app.use(createForwarder({ ...dependencies, refuse }));
  return (req, res) => {
    // Express would hand a target that is no path to Node's oldest parser, which may print it with a warning.
    if (!PATH.test(req.url ?? '')) req.url = NO_PATH;
    // The answer that express itself would give is HTML.
    app(req as Request, res as Response, (error) => sendWireError(res, error ? toInternalError() : toNotFound()));
  };
}

/** Every answer carries a request id of ours; a client's own is not taken over. */
const nameRequest: RequestHandler = (_req, res, next) => {
  res.setHeader(REQUEST_ID_HEADER, uuidv7());
  next();
};

/**
 * Refuses headers that two readers could read differently (request smuggling): too many to keep, no host or two, codings
 * beside chunks. Only HTTP/1.0 has requests without a host.
 */
const refuseAmbiguousHeaders: RequestHandler = (req, res, next) => {
  const hosts = countHeaders(req, 'host');
  const hasClearHost = hosts === 1 || (hosts === 0 && req.httpVersion === '1.0');
  const { 'transfer-encoding': coding = 'chunked' } = req.headers;
  if (req.rawHeaders.length / 2 <= MAX_HEADERS && hasClearHost && coding.toLowerCase() === 'chunked') return next();
  sendWireError(res, toMalformedRequest());
};

function createForwarder({
  telemetry,
  proxies,
  tokenKeys,
  trustedHops,
  serviceSegment,
  refuse,
}: AppDependencies & { refuse: Refuse }): RequestHandler {
  const paths = listPaths(serviceSegment);
  return (req, res) => {
    const [rawPath = ''] = req.url.split('?', 1);
    const listed = findListedPaths(paths, rawPath);
    const called = listed.find(({ method }) => method === req.method);
    if (called) {
      const route = `${called.method} ${called.route}`;
      const span = telemetry.tracer.startTrace(route);
      enterRoute(res, { route, span });
      const ours = {
        ...(span.traceparent !== undefined && { traceparent: span.traceparent }),
        [REQUEST_ID_HEADER]: String(res.getHeader(REQUEST_ID_HEADER)),
        [CLIENT_ADDRESS_HEADER]: signClientAddress(findClientAddress(req, trustedHops).address, { keys: tokenKeys }),
      };
      req.headers = toUpstreamHeaders(req, ours);
      return proxies[called.upstream].forward(req, res, (fault) => refuse(res, fault));
    }
    if (listed.length > 0) {
      const allow = listed.map(({ method }) => method).join(', ');
      return sendWireError(res, toMethodNotAllowed(req.method, allow));
    }
    const operation = findUnsupportedOperation(rawPath);
    if (operation) return refuse(res, { kind: 'unsupported_endpoint', operation });
    sendWireError(res, toNotFound());
  };
}
