import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { SigningKey } from '@turnpike/config/internalKeys';
import { toMalformedRequest } from '@turnpike/http-service/connection';
import { toMethodNotAllowed, toNotFound } from '@turnpike/http-service/createHttpApp';
import { newUuidV7 } from '@turnpike/http-service/newUuidV7';
import {
  type AccessLog,
  createRequestMetrics,
  enterRoute,
  noteAccess,
  noteFault,
  observeRequest,
  routeOf,
} from '@turnpike/http-service/observeRequests';
import { sendWireError } from '@turnpike/http-service/sendWireError';
import { CLIENT_ADDRESS_HEADER, createClientAddressSigner } from '@turnpike/internal-auth/clientAddress';
import type { Logger } from '@turnpike/logging/createLogger';
import { MESSAGES_REQUEST_ID_HEADER, REQUEST_ID_HEADER } from '@turnpike/public-api/headers';
import type { WireError } from '@turnpike/public-api/wireError';
import type { Throttle } from '@turnpike/request-throttle/createThrottle';
import { noSpan } from '@turnpike/telemetry/callSpan';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import { type EdgeFault, toEdgeError } from './api/edgeError.ts';
import { type ClientAddress, findClientAddress } from './flood/findClientAddress.ts';
import { isAmbiguous, isOfMessages, toHeaderLine, toUpstreamHeaders } from './headers/requestHeaders.ts';
import { createNearestPathFinder } from './paths/findNearestPath.ts';
import { findUnsupportedOperation } from './paths/findUnsupportedOperation.ts';
import { createPathFinder, type ListedPath } from './paths/listedPaths.ts';
import type { Upstream } from './paths/upstream.ts';
import type { UpstreamProxy } from './proxy/createUpstreamProxy.ts';

export interface AppDependencies {
  log: Logger;
  telemetry: Pick<Telemetry, 'meter' | 'tracer'>;
  proxies: Record<Upstream, UpstreamProxy>;
  /** Signs the client's address for the services behind. */
  signingKey: SigningKey;
  trustedHops: number;
  /** Requests by block of addresses. */
  floodThrottle: Pick<Throttle, 'takeRequest' | 'requestsPerMinute'>;
  serviceSegment: string;
  /** Takes a line for each request that the edge answers by itself. All others have theirs in the service behind it. */
  accessLog?: AccessLog | undefined;
}

/** An absolute address or a fragment is refused. No correct client sends a fragment. */
const PATH = /^\/[^\s#]*$/;
/** A path that an error repeats: plain characters, not too many, and no API key among them. */
const QUOTABLE = /^(?!.*sk-)[\w/.~:@+,=%-]{1,120}$/;

/**
 * The public face of a region: flood limit, then the list of paths, then the service behind the path. A plain listener, since
 * every request and every stream passes it.
 */
export function createApp(dependencies: AppDependencies): RequestListener {
  const { log, telemetry, proxies, signingKey, trustedHops, floodThrottle, serviceSegment, accessLog } = dependencies;
  const metrics = createRequestMetrics(telemetry.meter);
  const findPaths = createPathFinder(serviceSegment);
  const findNearestPath = createNearestPathFinder(serviceSegment);
  const signClientAddress = createClientAddressSigner({ key: signingKey });

  /** Returns the operation that a request calls, or the edge's own answer. */
  function decide(req: IncomingMessage, { block }: ClientAddress): ListedPath | EdgeFault | WireError {
    const { isAllowed, waitMs } = floodThrottle.takeRequest(block);
    if (!isAllowed)
      return { kind: 'flood_limit_exceeded', perMinute: floodThrottle.requestsPerMinute, resetMs: waitMs };
    if (isAmbiguous(req)) return toMalformedRequest();

    const { method = '', url = '' } = req;
    if (!PATH.test(url)) return toNotFound();
    const query = url.indexOf('?');
    const rawPath = query < 0 ? url : url.slice(0, query);
    const listed = findPaths(rawPath);
    const called = listed.find((path) => path.method === method);
    if (called) return called;
    if (listed.length > 0) return toMethodNotAllowed(method, listed.map((path) => path.method).join(', '));
    const operation = findUnsupportedOperation(rawPath);
    if (operation) return { kind: 'unsupported_endpoint', operation };
    return toNotFound({ ...(QUOTABLE.test(rawPath) && { path: rawPath }), nearest: findNearestPath(rawPath) });
  }

  /** Every answer carries a request id of ours; a client's own is not taken over. */
  function answer(res: ServerResponse, requestId: string, said: EdgeFault | WireError): void {
    if (!res.headersSent) {
      res.setHeader(REQUEST_ID_HEADER, requestId);
      if (isOfMessages(res.req)) res.setHeader(MESSAGES_REQUEST_ID_HEADER, requestId);
    }
    if ('kind' in said) {
      metrics.faulted({ route: routeOf(res), fault: said.kind });
      noteFault(res, said.kind);
    }
    if (accessLog) noteAccess(res, accessLog);
    sendWireError(res, 'kind' in said ? toEdgeError(said) : said);
  }

  function forward(
    req: IncomingMessage,
    res: ServerResponse,
    { called, requestId, address }: { called: ListedPath; requestId: string; address: string },
  ): void {
    const { operation: route, upstream } = called;
    const span = telemetry.tracer.startTrace(route);
    enterRoute(res, { route, span });
    let headers = toUpstreamHeaders(req);
    headers += toHeaderLine(REQUEST_ID_HEADER, requestId);
    headers += toHeaderLine(CLIENT_ADDRESS_HEADER, signClientAddress(address));
    if (span.traceparent !== undefined) headers += toHeaderLine('traceparent', span.traceparent);
    const refuse = (fault: EdgeFault): void => answer(res, requestId, fault);
    proxies[upstream].forward({ req, res, headers, call: { requestId, keepsHeaders: span !== noSpan, refuse } });
  }

  return (req, res) => {
    const requestId = newUuidV7();
    observeRequest(res, metrics);
    try {
      const client = findClientAddress(req, trustedHops);
      const decided = decide(req, client);
      if ('pattern' in decided) forward(req, res, { called: decided, requestId, address: client.address });
      else answer(res, requestId, decided);
    } catch (error) {
      log.error({ err: error, requestId, route: routeOf(res) }, 'request failed');
      answer(res, requestId, { kind: 'unforeseen', wasSent: false });
    }
  };
}
