import type { ServerResponse } from 'node:http';
import { CALL_ID_HEADER, REQUEST_ID_HEADER } from '@turnpike/public-api/headers';
import { type CallSpan, noSpan } from '@turnpike/telemetry/callSpan';
import type { RequestMetrics } from './requestMetrics.ts';

/** The route of every request that took none. */
const UNLISTED = 'unlisted';

/** Facts about a request while it is served. */
interface Observation {
  route: string;
  span: CallSpan;
  /** The answer was broken off after its head, and not by its client. */
  isCut: boolean;
}

const OBSERVATION = Symbol('observation');
type Observed = ServerResponse & { [OBSERVATION]?: Observation };

/** Counts a request when it ends, by its route and status, and ends its span. */
export function observeRequest(res: Observed, metrics: RequestMetrics): void {
  const startedAt = performance.now();
  const observation: Observation = { route: UNLISTED, span: noSpan, isCut: false };
  res[OBSERVATION] = observation;
  res.on('close', () => {
    const { route, span, isCut } = observation;
    const status = res.headersSent ? res.statusCode : undefined;
    const seconds = (performance.now() - startedAt) / 1_000;
    const outcome = isCut ? 'cut' : res.writableFinished ? 'whole' : 'left';
    metrics.ended({ route, status: String(status ?? 'none'), outcome, seconds });
    if (span !== noSpan) endSpan(span, { res, route, status, isCut });
  });
}

/** Says which route a request took, as method and pattern (`GET /v1/models/:id`), and which span follows it. */
export function enterRoute(res: Observed, { route, span }: { route: string; span: CallSpan }): void {
  const observation = res[OBSERVATION];
  if (!observation) return;
  observation.route = route;
  observation.span = span;
}

/** Breaks an answer off after its head, so that it cannot pass for whole, and has it counted as cut. */
export function cutAnswer(res: Observed): void {
  const observation = res[OBSERVATION];
  if (observation) observation.isCut = true;
  res.destroy();
}

export const routeOf = (res: Observed): string => res[OBSERVATION]?.route ?? UNLISTED;

/** The span that follows a request; `noSpan` when the call is not traced. */
export const spanOf = (res: Observed): CallSpan => res[OBSERVATION]?.span ?? noSpan;

function endSpan(
  span: CallSpan,
  { res, route, status, isCut }: { res: ServerResponse; route: string; status: number | undefined; isCut: boolean },
): void {
  span.setAttributes({
    'http.route': route,
    'http.response.status_code': status,
    'turnpike.request_id': headerOf(res, REQUEST_ID_HEADER),
    'turnpike.call_id': headerOf(res, CALL_ID_HEADER),
  });
  span.end({ isError: isCut || (status !== undefined && status >= 500) });
}

function headerOf(res: ServerResponse, name: string): string | undefined {
  const value = res.getHeader(name);
  return typeof value === 'string' ? value : undefined;
}
