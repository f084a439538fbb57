import { REQUEST_ID_HEADER } from '@turnpike/public-api/headers';
import type { ResponseReader } from '@turnpike/upstream-connections/responseReader';
import {
  type AnswerListener,
  ListenerError,
  type UpstreamConnection,
} from '@turnpike/upstream-connections/upstreamConnections';
import { type Engine, isRefusal } from './engine.ts';
import type { EngineErrorKind } from './terms/attemptResult.ts';
import { toSlices } from './terms/engineJson.ts';
import { UNANSWERED_WITHIN_MS } from './terms/limits.ts';

export interface EngineListener {
  onHeaders(statusCode: number, contentType: string): void;
  /** The bytes are valid during the call only. The listener copies what it keeps. */
  onData(chunk: Buffer): void;
  /** The answer is complete. Its connection has to be released or dropped. */
  onEnd(): void;
  /** The exchange broke off, before or after headers. No further callback follows. */
  onError(kind: EngineErrorKind): void;
  /** A listener threw, or the request could not be written: an error of the router. No further callback follows. */
  onUnforeseen(error: unknown): void;
}

type CallEngine = Pick<Engine, 'origin' | 'connections' | 'traffic'>;

/** A request to an engine. */
export interface EngineRequest {
  path: string;
  /** In pieces, as the dialect returns them. */
  body: readonly Buffer[];
  /** Becomes part of the engine's logs and of the answer's id. It has to be new for each attempt. */
  requestId: string;
  traceparent: string | undefined;
}

/**
 * One exchange of bytes with an engine: sends a body and reports the answer's bytes, unbuffered. Timeouts for the
 * engine's silence are the caller's duty.
 */
export class EngineExchange implements AnswerListener {
  readonly #engine: CallEngine;
  readonly #listener: EngineListener;
  readonly #beganAtMs = performance.now();
  #connection: UpstreamConnection | undefined;
  /** The part of the body that is not sent yet. */
  #unsent: Buffer[] = [];
  #isAnswered = false;
  #isPaused = false;
  /** Whether the connection may serve another call after this answer is complete. */
  #isPersistent = false;
  #isOver = false;

  constructor(engine: CallEngine, listener: EngineListener) {
    this.#engine = engine;
    this.#listener = listener;
    const { traffic } = engine;
    if (traffic.openCalls === 0) traffic.busySinceMs = this.#beganAtMs;
    traffic.openCalls += 1;
  }

  /**
   * Sends the request once a connection is open. Resolves when the request has been handed to the connection; never
   * rejects.
   */
  async send({ path, body, requestId, traceparent }: EngineRequest): Promise<void> {
    const { connections, origin } = this.#engine;
    let connection: UpstreamConnection;
    try {
      connection = connections.takeIdle() ?? (await connections.open());
    } catch (error) {
      // The engine has received nothing of the call.
      this.#fail(isRefusal(error) ? 'refused' : 'unreached');
      return;
    }
    if (this.#isOver) {
      connections.release(connection);
      return;
    }
    this.#connection = connection;
    try {
      let length = 0;
      for (const piece of body) length += piece.length;
      const lines = [
        `POST ${path} HTTP/1.1`,
        // An origin has neither a path nor a user.
        `host: ${origin.slice(origin.indexOf('//') + 2)}`,
        'connection: keep-alive',
        'content-type: application/json',
        'accept: text/event-stream, application/json',
        `content-length: ${length}`,
        `${REQUEST_ID_HEADER}: ${requestId}`,
      ];
      if (traceparent !== undefined) lines.push(`traceparent: ${traceparent}`);
      connection.begin(`${lines.join('\r\n')}\r\n\r\n`, this);
      this.#unsent = toSlices(body);
      this.#sendOn();
      connection.flush();
    } catch (error) {
      this.onFailure(new ListenerError(error));
    }
  }

  /** Stops reading from the engine, which stops generating into a full buffer. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#connection?.resume();
  }

  /** Gives the connection of a complete answer to other calls, if it can serve them. */
  release(): void {
    this.#settle(this.#isPersistent);
  }

  /**
   * Drops the connection, so that the engine frees the request at its next step. The listener gets no further callback.
   */
  abort(): void {
    this.#settle(false);
  }

  onAnswer(answer: ResponseReader, body: Buffer | undefined): boolean {
    const listener = this.#listener;
    const head = answer.takeHead();
    if (head) {
      this.#isAnswered = true;
      // Names and values alternate.
      const { headers } = head;
      let contentType = '';
      for (let at = 0; at < headers.length; at += 2) {
        if (headers[at] !== 'content-type') continue;
        contentType = headers[at + 1] ?? '';
        break;
      }
      listener.onHeaders(head.status, contentType);
    }
    if (body) {
      this.#engine.traffic.heardAtMs = performance.now();
      if (!this.#isOver) listener.onData(body);
    }
    if (!answer.isWhole) return !this.#isPaused;
    this.#isPersistent = answer.isPersistent;
    if (!this.#isOver) listener.onEnd();
    return true;
  }

  onFailure(error: Error): void {
    if (error instanceof ListenerError) {
      this.#settle(false);
      this.#listener.onUnforeseen(error.cause);
      return;
    }
    const mayBeUnanswered = !this.#isAnswered && performance.now() - this.#beganAtMs < UNANSWERED_WITHIN_MS;
    this.#fail(mayBeUnanswered ? 'unanswered' : 'reset');
  }

  onDrain(): void {
    this.#sendOn();
  }

  /** Sends one slice in each turn of the event loop, and none while the connection is full. */
  #sendOn(): void {
    const slice = this.#unsent.shift();
    if (slice === undefined || this.#connection === undefined) return;
    const mayGoOn = this.#connection.write(slice);
    if (mayGoOn && this.#unsent.length > 0) setImmediate(() => this.#sendOn());
  }

  #fail(kind: EngineErrorKind): void {
    if (this.#settle(false)) this.#listener.onError(kind);
  }

  /**
   * Ends the exchange once. Returns false if it had ended before. Keeps the connection if it can serve another call.
   */
  #settle(isPersistent: boolean): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    const { connections, traffic } = this.#engine;
    traffic.openCalls -= 1;
    const connection = this.#connection;
    this.#connection = undefined;
    const isSent = this.#unsent.length === 0 && connection?.hasSentAll;
    this.#unsent = [];
    if (connection && isPersistent && isSent) connections.release(connection);
    else connection?.destroy();
    return true;
  }
}
