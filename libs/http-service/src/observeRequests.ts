import type { ServerResponse } from 'node:http';
import { CALL_ID_HEADER, REQUEST_ID_HEADER } from '@turnpike/public-api/headers';
import { type CallSpan, noSpan } from '@turnpike/telemetry/callSpan';
import type { AccessLog, CallFacts } from './accessLog.ts';
import type { RequestMetrics } from './requestMetrics.ts';

/** The route of every request that took none. */
const UNLISTED = 'unlisted';

/** Facts about a request while it is served. */
interface Observation {
  route: string;
  span: CallSpan;
  /** The answer was broken off after its head, and not by its client. */
  isCut: boolean;
  /** Takes a line of the request once the answer has ended and its handler is done. Undefined: the request has none. */
  accessLog: AccessLog | undefined;
  fault: string | undefined;
  facts: CallFacts | undefined;
  /** The handler is at work, which may go on after its client has left. */
  isHandling: boolean;
  /** Duration of the answer once it has ended. */
  ms: number | undefined;
}

const NO_FACTS: CallFacts = {};

const OBSERVATION = Symbol('observation');
type Observed = ServerResponse & { [OBSERVATION]?: Observation };
const observationOf = (res: object): Observation | undefined => (res as Observed)[OBSERVATION];

/** Counts a request when it ends, by its route and status. Ends its span, and writes its line to the access log if there is one. */
export function observeRequest(res: Observed, metrics: RequestMetrics, accessLog?: AccessLog): void {
  const startedAt = performance.now();
  const observation: Observation = {
    route: UNLISTED,
    span: noSpan,
    isCut: false,
    accessLog,
    fault: undefined,
    facts: undefined,
    isHandling: false,
    ms: undefined,
  };
  res[OBSERVATION] = observation;
  res.on('close', () => {
    const { route, span, isCut } = observation;
    const status = statusOf(res);
    const ms = performance.now() - startedAt;
    metrics.ended({ route, status: String(status ?? 'none'), outcome: outcomeOf(res, isCut), seconds: ms / 1_000 });
    if (span !== noSpan) endSpan(span, { res, route, status, isCut });
    observation.ms = ms;
    if (!observation.isHandling) writeAccess(res, observation);
  });
}

/** Says which route a request took, as method and pattern (`GET /v1/models/:id`), and which span follows it. */
export function enterRoute(res: Observed, { route, span }: { route: string; span: CallSpan }): void {
  const observation = res[OBSERVATION];
  if (!observation) return;
  observation.route = route;
  observation.span = span;
}

/** Lets the line of a request wait for its handler, which knows how a call ends that its client has left. */
export function beginHandling(res: Observed): void {
  const observation = res[OBSERVATION];
  if (observation) observation.isHandling = true;
}

export function endHandling(res: Observed): void {
  const observation = res[OBSERVATION];
  if (!observation) return;
  observation.isHandling = false;
  if (observation.ms !== undefined) writeAccess(res, observation);
}

/** Adds facts for the access log. `res` is a response, or what a function needs of one. */
export function noteCall(res: object, facts: CallFacts): void {
  const observation = observationOf(res);
  if (observation) observation.facts = observation.facts ? Object.assign(observation.facts, facts) : facts;
}

/** Adds the kind of the fault that a request is refused or fails by. */
export function noteFault(res: object, fault: string): void {
  const observation = observationOf(res);
  if (observation) observation.fault = fault;
}

/** Sets the access log of one request. A proxy does so for the few that it answers by itself. */
export function noteAccess(res: object, accessLog: AccessLog): void {
  const observation = observationOf(res);
  if (observation) observation.accessLog = accessLog;
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

/** The `x-request-id` of an answer. */
export const requestIdOf = (res: ServerResponse): string | undefined => headerOf(res, REQUEST_ID_HEADER);

const statusOf = (res: ServerResponse): number | undefined => (res.headersSent ? res.statusCode : undefined);

const outcomeOf = (res: ServerResponse, isCut: boolean): 'whole' | 'cut' | 'left' =>
  isCut ? 'cut' : res.writableFinished ? 'whole' : 'left';

function writeAccess(res: ServerResponse, { accessLog, route, fault, isCut, facts, ms = 0 }: Observation): void {
  if (!accessLog) return;
  const { principal } = (res as { locals?: { principal?: { keyId?: string } } }).locals ?? {};
  accessLog.write(
    {
      requestId: requestIdOf(res) ?? '',
      callId: facts?.callId ?? headerOf(res, CALL_ID_HEADER),
      keyId: principal?.keyId,
      route,
      status: statusOf(res),
      fault,
      outcome: outcomeOf(res, isCut),
      ms: Math.round(ms * 10) / 10,
    },
    facts ?? NO_FACTS,
  );
}

function endSpan(
  span: CallSpan,
  { res, route, status, isCut }: { res: ServerResponse; route: string; status: number | undefined; isCut: boolean },
): void {
  span.setAttributes({
    'http.route': route,
    'http.response.status_code': status,
    'turnpike.request_id': requestIdOf(res),
    'turnpike.call_id': headerOf(res, CALL_ID_HEADER),
  });
  span.end({ isError: isCut || (status !== undefined && status >= 500) });
}

function headerOf(res: ServerResponse, name: string): string | undefined {
  const value = res.getHeader(name);
  return typeof value === 'string' ? value : undefined;
}
