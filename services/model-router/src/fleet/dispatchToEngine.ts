import { REQUEST_ID_HEADER } from '@turnpike/public-api/headers';
import type { Dispatcher } from 'undici';
import type { Engine } from './engine.ts';
import type { EngineErrorKind } from './terms/attempt.ts';
import { UNANSWERED_WITHIN_MS } from './terms/limits.ts';

export interface EngineListener {
  onHeaders(statusCode: number, contentType: string): void;
  onData(chunk: Buffer): void;
  onEnd(): void;
  /** The exchange broke off, before or after headers. Nothing follows. */
  onError(kind: EngineErrorKind): void;
}

/** An exchange under way. */
export interface EngineExchange {
  /** Stops reading from the engine, which stops generating into a full buffer. */
  pause(): void;
  resume(): void;
  /** Drops the connection: the engine frees the request at its next step. Nothing is heard afterwards. */
  abort(): void;
}

const REFUSED = new Set([
  'ECONNREFUSED',
  'UND_ERR_CONNECT_TIMEOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);
const TIMEOUT = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

function kindOf(error: Error, mayBeUnanswered: boolean): EngineErrorKind {
  const code = 'code' in error ? String(error.code) : '';
  if (REFUSED.has(code)) return 'refused';
  if (TIMEOUT.has(code)) return 'timeout';
  return mayBeUnanswered ? 'unanswered' : 'reset';
}

/**
 * Sends a body to an engine and reports what comes, unbuffered. `requestId` becomes part of the engine's own logs and of
 * the answer's id; it has to be new for each attempt. Silence between events is the caller's to bound.
 */
export function dispatchToEngine(
  { pool, traffic }: Pick<Engine, 'pool' | 'traffic'>,
  {
    path,
    body,
    requestId,
    traceparent,
    headersTimeoutMs,
  }: { path: string; body: Buffer; requestId: string; traceparent: string | undefined; headersTimeoutMs: number },
  listener: EngineListener,
): EngineExchange {
  let controller: Dispatcher.DispatchController | undefined;
  let isOver = false;
  let isAnswered = false;
  const beganAtMs = performance.now();
  if (traffic.openCalls === 0) traffic.busySinceMs = beganAtMs;
  traffic.openCalls += 1;
  const settle = (report: () => void): void => {
    if (isOver) return;
    isOver = true;
    traffic.openCalls -= 1;
    report();
  };
  pool.dispatch(
    {
      method: 'POST',
      path,
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream, application/json',
        [REQUEST_ID_HEADER]: requestId,
        ...(traceparent !== undefined && { traceparent }),
      },
      body,
      headersTimeout: headersTimeoutMs,
      bodyTimeout: 0,
    },
    {
      onRequestStart(started) {
        controller = started;
        if (isOver) started.abort(new Error('call ended'));
      },
      onResponseStart(_controller, statusCode, headers) {
        isAnswered = true;
        if (!isOver && statusCode >= 200) listener.onHeaders(statusCode, String(headers['content-type'] ?? ''));
      },
      onResponseData(_controller, chunk) {
        traffic.heardAtMs = performance.now();
        if (!isOver) listener.onData(chunk);
      },
      onResponseEnd() {
        settle(() => listener.onEnd());
      },
      onResponseError(_controller, error) {
        const mayBeUnanswered = !isAnswered && performance.now() - beganAtMs < UNANSWERED_WITHIN_MS;
        settle(() => listener.onError(kindOf(error, mayBeUnanswered)));
      },
    },
  );
  return {
    pause: () => controller?.pause(),
    resume: () => controller?.resume(),
    abort() {
      settle(() => {});
      controller?.abort(new Error('call ended'));
    },
  };
}
