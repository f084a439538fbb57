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

/** Up to here it is cheaper to copy bytes than to write them by themselves. */
const MAX_TEXT_BYTES = 16_384;

/**
 * Sent of a request before everything else has its turn: from a connection Node reads up to 2 MiB at once, and streams would
 * wait for them.
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
  /** Names the call's answer. */
  requestId: string;
  /** True if an observer of the response reads its headers after they were sent, which costs more. */
  keepsHeaders: boolean;
  /** Answers the call with a fault. */
  refuse: (fault: EdgeFault) => void;
}

/** One request on its way to an upstream, and its answer on the way back. Neither is read faster than it is taken. */
export class Forwarding implements AnswerListener {
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #call: ForwardedCall;
  readonly #upstream: UpstreamState;
  #leave: (() => void) | undefined;
  #connection: UpstreamConnection | undefined;
  /** Nothing of the request is left to send. */
  #isSent = false;
  #isOver = false;
  /** Bytes of the request that were sent since the event loop last had its turn; and whether it has it now. */
  #sentBytes = 0;
  #givesWay = false;
  /** The upstream takes no more of the request for now. */
  #isFull = false;
  /** The answer's body goes to the client in chunks. */
  #isChunked = false;
  /** The client has not taken the answer so far, so that nothing is read of the upstream. */
  #isUnread = false;
  /** Ticks since the upstream sent or took anything; while the answer is unread, since the client stopped taking it. */
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
   * Sends the request, of which `head` is the request line and the headers. `leave` is called once the upstream has nothing to do with it
   * any more, or never had.
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
   * Called at every tick of a clock. Gives up after more ticks than `silent` without a sign of the upstream, and drops a client that
   * has taken nothing for more ticks than `unread`.
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
    // A stream's headers go out before its first event, which may be long in coming.
    if (body === undefined) res.flushHeaders();
    else if (!this.#writeAnswer(body, head !== undefined)) return false;
    return true;
  }

  #answerHead({ status, headers }: ResponseHead): void {
    const res = this.#res;
    const { requestId, keepsHeaders } = this.#call;
    const shown = toShownHeaders(headers);
    // Whether the connection stays is between the client and us, and so is how the body comes where nobody knows its length.
    shown.push(REQUEST_ID_HEADER, requestId, 'connection', res.shouldKeepAlive ? 'keep-alive' : 'close');
    if (isOfMessages(this.#req)) shown.push(MESSAGES_REQUEST_ID_HEADER, requestId);
    this.#isChunked = this.#req.httpVersion === '1.1' && mayHaveChunks(status, headers);
    if (this.#isChunked) shown.push('transfer-encoding', 'chunked');
    // Node keeps no headers that come with the status, which is cheaper, unless there are some already.
    if (keepsHeaders) res.setHeader(REQUEST_ID_HEADER, requestId);
    res.writeHead(status, shown);
  }

  #endAnswer(body: Buffer | undefined): void {
    if (body === undefined) this.#res.end();
    // Node joins text to the headers, but writes bytes by themselves.
    else if (body.length <= MAX_TEXT_BYTES) this.#res.end(body.toString('latin1'), 'latin1');
    else this.#res.end(Buffer.from(body));
  }

  /** Returns false, and goes on later, where the client has not taken what it has been sent. */
  #writeAnswer(body: Buffer, isFirst: boolean): boolean {
    const { socket } = this.#res;
    // Node writes a chunk in four parts, which takes twice as long as in one.
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
    // After what came of the body together with the head, which is read in the next tick.
    process.nextTick(() => connection.flush());
  }

  /** Drops bytes that come after the exchange is over. */
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

  /** The client has left, unless it has its answer. */
  #abandon(): void {
    if (!this.#isOver) this.#settle(false);
  }

  /** The exchange is over: the connection is kept where it can serve another. */
  #settle(isPersistent: boolean): void {
    this.#isOver = true;
    const { connections } = this.#upstream;
    if (this.#connection && isPersistent && this.#isSent) connections.release(this.#connection);
    else this.#connection?.destroy();
    this.#connection = undefined;
    // The upstream may take more now.
    this.#isFull = false;
    if (!this.#isSent) this.#req.resume();
    this.#leave?.();
  }
}

/** Whether an answer has a body of unknown length. */
const mayHaveChunks = (status: number, headers: readonly string[]): boolean =>
  status !== 204 && status !== 304 && !headers.includes('content-length');
