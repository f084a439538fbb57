import { CALL_ID_HEADER, REQUEST_ID_HEADER } from '@turnpike/public-api/headers';
import { type CallSpan, noSpan } from '@turnpike/telemetry/callSpan';
import type { RequestHandler, Response } from 'express';
import type { RequestMetrics } from './requestMetrics.ts';

/** The route of every request that took none. */
const UNLISTED = 'unlisted';

/** Counts each request when it ends, by its route and status, and ends its span. */
export function observeRequests(metrics: RequestMetrics): RequestHandler {
  return (_req, res, next) => {
    const startedAt = performance.now();
    res.once('close', () => {
      const route = routeOf(res);
      const status = res.headersSent ? res.statusCode : undefined;
      metrics.ended({ route, status: String(status ?? 'none'), seconds: (performance.now() - startedAt) / 1_000 });
      endSpan(spanOf(res), { res, route, status });
    });
    next();
  };
}

/** Says which route a request took, as method and pattern (`GET /v1/models/:id`), and which span follows it. */
export function enterRoute(res: Response, { route, span }: { route: string; span: CallSpan }): void {
  res.locals.route = route;
  res.locals.span = span;
}

export const routeOf = (res: Response): string => (res.locals.route as string | undefined) ?? UNLISTED;

/** The span that follows a request; `noSpan` when the call is not traced. */
export const spanOf = (res: Response): CallSpan => (res.locals.span as CallSpan | undefined) ?? noSpan;

function endSpan(
  span: CallSpan,
  { res, route, status }: { res: Response; route: string; status: number | undefined },
): void {
  if (span === noSpan) return;
  span.setAttributes({
    'http.route': route,
    'http.response.status_code': status,
    'turnpike.request_id': headerOf(res, REQUEST_ID_HEADER),
    'turnpike.call_id': headerOf(res, CALL_ID_HEADER),
  });
  span.end({ isError: status !== undefined && status >= 500 });
}

function headerOf(res: Response, name: string): string | undefined {
  const value = res.getHeader(name);
  return typeof value === 'string' ? value : undefined;
}
