import type { Dispatcher } from 'undici';
import type { Engine } from './engineRegistry.ts';

/** Why an exchange with an engine broke off. */
export type EngineErrorKind = 'refused' | 'reset' | 'timeout';

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

function kindOf(error: Error): EngineErrorKind {
  const code = 'code' in error ? String(error.code) : '';
  if (REFUSED.has(code)) return 'refused';
  return TIMEOUT.has(code) ? 'timeout' : 'reset';
}

/**
 * Sends a body to an engine and reports what comes, unbuffered. `requestId` becomes part of the engine's own logs and of
 * the answer's id; it has to be new for each attempt. Silence between events is the caller's to bound.
 */
export function dispatchToEngine(
  engine: Engine,
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
  const settle = (report: () => void): void => {
    if (isOver) return;
    isOver = true;
    report();
  };
  engine.pool.dispatch(
    {
      method: 'POST',
      path,
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream, application/json',
        'x-request-id': requestId,
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
        if (!isOver && statusCode >= 200) listener.onHeaders(statusCode, String(headers['content-type'] ?? ''));
      },
      onResponseData(_controller, chunk) {
        if (!isOver) listener.onData(chunk);
      },
      onResponseEnd() {
        settle(() => listener.onEnd());
      },
      onResponseError(_controller, error) {
        settle(() => listener.onError(kindOf(error)));
      },
    },
  );
  return {
    pause: () => controller?.pause(),
    resume: () => controller?.resume(),
    abort() {
      isOver = true;
      controller?.abort(new Error('call ended'));
    },
  };
}
