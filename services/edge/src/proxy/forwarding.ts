import type { IncomingMessage, ServerResponse } from 'node:http';
import { toChunk } from '@turnpike/http-service/connection';
import { cutAnswer } from '@turnpike/http-service/observeRequests';
import { MESSAGES_REQUEST_ID_HEADER, REQUEST_ID_HEADER } from '@turnpike/public-api/headers';
import type { ResponseHead, ResponseReader } from '@turnpike/upstream-connections/responseReader';
import {
  type AnswerListener,
  ListenerError,
  type UpstreamConnection,
  type UpstreamConnections,
} from '@turnpike/upstream-connections/upstreamConnections';
import type { EdgeFault } from '../api/edgeError.ts';
import { isOfMessages } from '../headers/requestHeaders.ts';
import { toShownHeaders } from '../headers/responseHeaders.ts';

const LAST_CHUNK = '0\r\n\r\n';

/** Most bytes that are cheaper to copy than to write separately. */
const MAX_TEXT_BYTES = 16_384;

/**
 * Bytes of a request that are sent in one turn of the event loop. Node reads up to 2 MiB from a connection at once, and
 * streams would wait meanwhile.
 */
const MAX_BYTES_IN_TURN = 262_144;

/** State that all requests to one upstream share. */
export interface UpstreamState {
  connections: UpstreamConnections;
  /** Answers a request that could not be passed on. `wasSent`: the upstream may have begun to act on the request. */
  refuse(call: ForwardedCall, fault: { error: Error; wasSent: boolean }): void;
  /** Logs an answer that breaks off after its head. */
  noteCut(call: ForwardedCall, error: Error): void;
}

export interface ForwardedCall {
  /** Id of the call's response. */
  requestId: string;
  /** True if an observer of the response reads its headers after they were sent, which costs more. */
  keepsHeaders: boolean;
  /** Answers the call with a fault. */
  refuse: (fault: EdgeFault) => void;
}

/** One request to an upstream and its answer. Neither is read faster than the receiver takes it. */
export class Forwarding implements AnswerListener {
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #call: ForwardedCall;
  readonly #upstream: UpstreamState;
  #leave: (() => void) | undefined;
  #connection: UpstreamConnection | undefined;
  /** Whether the whole request is sent. */
  #isSent = false;
  #isOver = false;
  /** Bytes sent since the event loop's last turn, and whether the request pauses for that turn. */
  #sentBytes = 0;
  #givesWay = false;
  /** Whether the upstream's connection is full for now. */
  #isFull = false;
  /** Whether the answer's body is sent to the client in chunks. */
  #isChunked = false;
  /** Whether the client has unread bytes of the answer, so that the upstream is not read. */
  #isUnread = false;
  /**
   * Ticks since the upstream sent or took bytes. While the answer is unread, ticks since the client stopped reading.
   */
  #silentTicks = 0;

  constructor(
    upstream: UpstreamState,
    { req, res, call }: { req: IncomingMessage; res: ServerResponse; call: ForwardedCall },
  ) {
    this.#upstream = upstream;
    this.#req = req;
    this.#res = res;
    this.#call = call;
  }

  /**
   * Sends the request; `head` is the request line and the headers. `leave` is called once the upstream has no more work
   * with the request, or never had.
   */
  async start(head: string, leave: () => void): Promise<void> {
    this.#leave = leave;
    this.#res.on('close', () => this.#abandon());
    const { connections } = this.#upstream;
    try {
      this.#begin(connections.takeIdle() ?? (await connections.open()), head);
    } catch (error) {
      this.onFailure(this.#connection ? new ListenerError(error) : (error as Error));
    }
  }

  /**
   * Called at every tick of a clock. Gives up after more than `silent` ticks without bytes of the upstream. Drops a
   * client that has taken nothing for more than `unread` ticks.
   */
  tick(most: { silent: number; unread: number }): void {
    if (this.#connection === undefined) return;
    this.#silentTicks += 1;
    if (this.#isUnread) {
      if (this.#silentTicks > most.unread) this.#res.destroy();
    } else if (this.#silentTicks > most.silent) {
      this.#connection.destroy();
      this.onFailure(new Error('the upstream has been silent for too long'));
    }
  }

  onAnswer(answer: ResponseReader, body: Buffer | undefined): boolean {
    const res = this.#res;
    this.#silentTicks = 0;
    const head = answer.takeHead();
    if (head) this.#answerHead(head);
    if (answer.isWhole) {
      this.#settle(answer.isPersistent);
      this.#endAnswer(body);
      return true;
    }
    // A stream's headers are sent before its first event, which may take long.
    if (body === undefined) res.flushHeaders();
    else if (!this.#writeAnswer(body, head !== undefined)) return false;
    return true;
  }

  #answerHead({ status, headers }: ResponseHead): void {
    const res = this.#res;
    const { requestId, keepsHeaders } = this.#call;
    const shown = toShownHeaders(headers);
    // `connection` and chunked coding belong to one hop, so they are set here.
    shown.push(REQUEST_ID_HEADER, requestId, 'connection', res.shouldKeepAlive ? 'keep-alive' : 'close');
    if (isOfMessages(this.#req)) shown.push(MESSAGES_REQUEST_ID_HEADER, requestId);
    this.#isChunked = this.#req.httpVersion === '1.1' && mayHaveChunks(status, headers);
    if (this.#isChunked) shown.push('transfer-encoding', 'chunked');
    // Node stores no headers that are passed with the status, which is cheaper, unless some are set before.
    if (keepsHeaders) res.setHeader(REQUEST_ID_HEADER, requestId);
    res.writeHead(status, shown);
  }

  #endAnswer(body: Buffer | undefined): void {
    if (body === undefined) this.#res.end();
    // Node sends text together with the headers, but bytes separately.
    else if (body.length <= MAX_TEXT_BYTES) this.#res.end(body.toString('latin1'), 'latin1');
    else this.#res.end(Buffer.from(body));
  }

  /** Writes a part of the answer. Returns false, and resumes later, if the client has unread bytes. */
  #writeAnswer(body: Buffer, isFirst: boolean): boolean {
    const { socket } = this.#res;
    // Node writes a chunk in four parts, which takes twice the time of one part.
    const out = this.#isChunked && !isFirst ? socket : this.#res;
    if (!out || out.write(out === socket ? toChunk([body]) : Buffer.from(body))) return true;
    this.#isUnread = true;
    out.once('drain', () => {
      this.#isUnread = false;
      this.#silentTicks = 0;
      this.#connection?.resume();
    });
    return false;
  }

  onFailure(error: Error): void {
    const isOurs = error instanceof ListenerError;
    const wasSent = isOurs || this.#connection !== undefined;
    if (!this.#isOver) this.#settle(false);
    else if (!isOurs) return;
    if (this.#res.destroyed) return;
    if (!this.#res.headersSent) {
      this.#upstream.refuse(this.#call, { error, wasSent });
      return;
    }
    this.#upstream.noteCut(this.#call, error);
    cutAnswer(this.#res);
  }

  onDrain(): void {
    this.#isFull = false;
    this.#readOn();
  }

  #begin(connection: UpstreamConnection, head: string): void {
    if (this.#isOver) {
      this.#upstream.connections.release(connection);
      return;
    }
    this.#connection = connection;
    connection.begin(head, this);
    const req = this.#req;
    const { 'content-length': length = '0', 'transfer-encoding': coding } = req.headers;
    this.#isSent = length === '0' && coding === undefined;
    if (!this.#isSent) {
      req.on('data', (bytes: Buffer) => this.#send(coding === undefined ? bytes : toChunk([bytes])));
      req.on('end', () => this.#endRequest(coding === undefined ? undefined : LAST_CHUNK));
    }
    // The flush follows the body's bytes that came with the head, which are read in the next tick.
    process.nextTick(() => connection.flush());
  }

  /** Sends bytes of the request. Drops bytes after the exchange is over. */
  #send(bytes: Buffer): void {
    this.#silentTicks = 0;
    this.#isFull = this.#connection?.write(bytes) === false;
    this.#sentBytes += bytes.length;
    if (this.#sentBytes >= MAX_BYTES_IN_TURN) {
      this.#sentBytes = 0;
      this.#givesWay = true;
      setImmediate(() => {
        this.#givesWay = false;
        this.#readOn();
      });
    }
    if (this.#isFull || this.#givesWay) this.#req.pause();
  }

  #readOn(): void {
    if (!this.#isFull && !this.#givesWay) this.#req.resume();
  }

  #endRequest(last: string | undefined): void {
    this.#isSent = true;
    if (last !== undefined) this.#connection?.write(last);
  }

  /** Ends the exchange if the client has left before the end of its answer. */
  #abandon(): void {
    if (!this.#isOver) this.#settle(false);
  }

  /** Ends the exchange. Keeps the connection if it can serve another. */
  #settle(isPersistent: boolean): void {
    this.#isOver = true;
    const { connections } = this.#upstream;
    if (this.#connection && isPersistent && this.#isSent) connections.release(this.#connection);
    else this.#connection?.destroy();
    this.#connection = undefined;
    // The rest of the request is read and dropped.
    this.#isFull = false;
    if (!this.#isSent) this.#req.resume();
    this.#leave?.();
  }
}

/** Returns whether an answer has a body of unknown length. */
const mayHaveChunks = (status: number, headers: readonly string[]): boolean =>
  status !== 204 && status !== 304 && !headers.includes('content-length');
