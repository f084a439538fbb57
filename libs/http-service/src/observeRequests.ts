import type { ServerResponse } from 'node:http';
import type { BufferedLines } from '@turnpike/logging/bufferedLines';
import { CALL_ID_HEADER, REQUEST_ID_HEADER } from '@turnpike/public-api/headers';
import { type CallSpan, noSpan } from '@turnpike/telemetry/callSpan';
import type { EndedCall } from '@turnpike/telemetry/inferenceMetrics';
import type { Meter } from '@turnpike/telemetry/startTelemetry';
import type { Response } from 'express';

/** The route of every request that took none. */
const UNLISTED = 'unlisted';

/** The sender of a request, as a guard found it: anyone, a service or the operator, a key; later a person's session. */
export interface Principal {
  kind: string;
  /** Id of the API key that the request came with, for the access log. */
  keyId?: string;
}

/** How an answer ended: whole, broken off after its head, or left by its client. */
type Outcome = 'whole' | 'cut' | 'left';

/** The end of an answer. */
interface Ended {
  /** Undefined if the client left before there was an answer. */
  status: number | undefined;
  outcome: Outcome;
  /** Milliseconds from the request to the end of its answer. */
  ms: number;
}

/** Facts of a call from its handler: ids of this system, codes or counts. */
export interface CallFacts {
  callId?: string;
  /** Canonical model of the catalog. Never what the client typed. */
  model?: string;
  /** Id of the engine or backend that had the call last. */
  engine?: string;
  /** The call in its book, which has its end once there is one. */
  call?: { readonly ended?: (EndedCall & { reason: string | null }) | undefined };
}

/** Facts about a request while it is served. */
interface Observation {
  route: string;
  span: CallSpan;
  /** The answer was broken off after its head, and not by its client. */
  isCut: boolean;
  /** Takes a line of the request once the answer has ended and its handler is done. Undefined: the request has none. */
  accessLog: AccessLog | undefined;
  /** Kind of the fault that the request was refused or failed by. */
  fault: string | undefined;
  facts: CallFacts | undefined;
  /** The handler is at work, which may go on after its client has left. */
  isHandling: boolean;
  ended: Ended | undefined;
}

const OBSERVATION = Symbol('observation');
type Observed = ServerResponse & { [OBSERVATION]?: Observation };

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
    ended: undefined,
  };
  res[OBSERVATION] = observation;
  res.on('close', () => {
    const { route, span, isCut } = observation;
    const status = res.headersSent ? res.statusCode : undefined;
    const ms = performance.now() - startedAt;
    const outcome = isCut ? 'cut' : res.writableFinished ? 'whole' : 'left';
    metrics.ended({ route, status: String(status ?? 'none'), outcome, seconds: ms / 1_000 });
    if (span !== noSpan) endSpan(span, { res, route, status, isCut });
    observation.ended = { status, outcome, ms };
    if (!observation.isHandling) observation.accessLog?.write(res, observation, observation.ended);
  });
}

/** Sets the route of a request, as method and pattern (`GET /v1/models/:id`), and its span. */
export function enterRoute(res: Observed, { route, span }: { route: string; span: CallSpan }): void {
  const observation = res[OBSERVATION];
  if (!observation) return;
  observation.route = route;
  observation.span = span;
}

/**
 * Enters a route whose handler ends with `endHandling`. The access log line waits for that, because only the handler
 * knows the end of a call whose client has left.
 */
export function beginHandling(res: Observed, entered: { route: string; span: CallSpan }): void {
  const observation = res[OBSERVATION];
  if (observation) Object.assign(observation, entered, { isHandling: true });
}

export function endHandling(res: Observed): void {
  const observation = res[OBSERVATION];
  if (!observation) return;
  observation.isHandling = false;
  if (observation.ended) observation.accessLog?.write(res, observation, observation.ended);
}

/** Adds facts for the access log. `res` is a response, or what a function needs of one. */
export function noteCall(res: object, facts: CallFacts): void {
  const observation = (res as Observed)[OBSERVATION];
  if (observation) observation.facts = observation.facts ? Object.assign(observation.facts, facts) : facts;
}

/** Adds the kind of the fault that a request is refused or fails by. */
export function noteFault(res: object, fault: string): void {
  const observation = (res as Observed)[OBSERVATION];
  if (observation) observation.fault = fault;
}

/** Sets the access log of one request. A proxy does so for the few that it answers by itself. */
export function noteAccess(res: object, accessLog: AccessLog): void {
  const observation = (res as Observed)[OBSERVATION];
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

/** Returns what the guard of the route found. Throws if no guard ran. */
export function principalOf(res: Response): Principal {
  const principal = res.locals.principal as Principal | undefined;
  if (principal === undefined) throw new Error('the route has no guard');
  return principal;
}

/** The `x-request-id` of an answer. */
export const requestIdOf = (res: ServerResponse): string | undefined => headerOf(res, REQUEST_ID_HEADER);

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

/** Most lines a second about requests that were refused or failed. A flood of them must not fill a disk. */
const MOST_FAILURES_PER_SECOND = 1_000;

/**
 * One line for each answered request of the API: ids, codes, counts and the charge. Requests that were served are sampled. Those that
 * were refused or failed all have a line, up to a bound. `leftOut` of a later line counts those beyond it, and those for
 * which standard output had no room.
 */
export class AccessLog {
  readonly #lines: Pick<BufferedLines, 'write'>;
  readonly #sampleRatio: number;
  #secondBeganAt = 0;
  #failures = 0;
  #leftOut = 0;

  constructor(lines: Pick<BufferedLines, 'write'>, { sampleRatio }: { sampleRatio: number }) {
    this.#lines = lines;
    this.#sampleRatio = sampleRatio;
  }

  write(
    res: ServerResponse,
    { route, fault, facts = {} }: Pick<Observation, 'route' | 'fault' | 'facts'>,
    { status, outcome, ms }: Ended,
  ): void {
    const hasFailed = fault !== undefined || outcome !== 'whole' || Number(status) >= 400;
    if (hasFailed ? !this.#hasRoom() : this.#sampleRatio < 1 && Math.random() >= this.#sampleRatio) return;
    const { principal } = (res as { locals?: { principal?: Principal } }).locals ?? {};
    const ended = facts.call?.ended;
    const isOfTokens = ended?.units === undefined;
    const leftOut = this.#leftOut;
    const isWritten = this.#lines.write({
      requestId: requestIdOf(res) ?? '',
      callId: facts.callId ?? headerOf(res, CALL_ID_HEADER),
      keyId: principal?.keyId,
      route,
      status,
      fault,
      outcome,
      ms: Math.round(ms * 10) / 10,
      model: ended?.canonicalModel ?? facts.model,
      engine: facts.engine,
      promptTokens: isOfTokens ? ended?.promptTokens : undefined,
      cachedPromptTokens: isOfTokens ? ended?.cachedPromptTokens : undefined,
      completionTokens: isOfTokens ? ended?.completionTokens : undefined,
      units: ended?.units,
      chargeNanoUsd: ended && String(ended.chargeNanoUsd),
      ending: ended?.status,
      reason: ended?.reason ?? undefined,
      leftOut: leftOut === 0 ? undefined : leftOut,
    });
    this.#leftOut = isWritten ? 0 : leftOut + 1;
  }

  #hasRoom(): boolean {
    const now = performance.now();
    if (now - this.#secondBeganAt >= 1_000) {
      this.#secondBeganAt = now;
      this.#failures = 0;
    }
    this.#failures += 1;
    if (this.#failures <= MOST_FAILURES_PER_SECOND) return true;
    this.#leftOut += 1;
    return false;
  }
}

export interface RequestMetrics {
  /**
   * Records the end of a request. `status` is `none` without an answer. `outcome`: the answer was complete, broke off
   * after its head, or its client left.
   */
  ended(request: { route: string; status: string; outcome: Outcome; seconds: number }): void;
  /** A request was refused, or failed, by the kind of its fault. */
  faulted(request: { route: string; fault: string }): void;
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** The instruments of every HTTP server. Labels are route patterns and kinds of faults, so their number is bounded. */
export function createRequestMetrics(meter: Meter): RequestMetrics {
  const requests = meter.createCounter('turnpike_requests_total', {
    description:
      'Requests that ended, by status; outcome is whole, cut (the answer broke off) or left (by its client).',
  });
  const durations = meter.createHistogram('turnpike_request_duration_seconds', {
    description: 'From a request to the last byte of its answer.',
    advice: { explicitBucketBoundaries: SECONDS },
  });
  const faults = meter.createCounter('turnpike_faults_total', {
    description: 'Requests that were refused or failed, by why.',
  });
  return {
    ended({ route, status, outcome, seconds }) {
      requests.add(1, { route, status, outcome });
      durations.record(seconds, { route });
    },
    faulted: ({ route, fault }) => faults.add(1, { route, fault }),
  };
}
