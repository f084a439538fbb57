import type { OnReadOpts, Socket } from 'node:net';
import { ResponseReader } from './responseReader.ts';

/**
 * The buffer for reads from any upstream. A listener copies the bytes that it keeps. A buffer for each read would take 64 KiB for
 * a chunk of some hundred bytes.
 */
const READ_BYTES = Buffer.allocUnsafeSlow(65_536);

/** An error that a listener threw, as its `cause`. The upstream has no part in it. */
export class ListenerError extends Error {
  override name = 'ListenerError';

  constructor(cause: unknown) {
    super('a listener of an answer threw', { cause });
  }
}

/** Callbacks for one response. */
export interface AnswerListener {
  /**
   * Some of the answer has come, its head at least; the body's bytes are the listener's during the call only. After one that is
   * whole nothing follows, and the connection is the listener's to release. False: no more until `resume`.
   */
  onAnswer(answer: ResponseReader, body: Buffer | undefined): boolean;
  /**
   * The exchange broke off: by an error of this listener where it is a `ListenerError`, else by the upstream. Nothing follows. A
   * listener that throws is called even where its exchange is over.
   */
  onFailure(error: Error): void;
  /** The upstream takes more of the request, after a `write` that returned false. */
  onDrain(): void;
}

/** One connection to an upstream, with one exchange at a time. */
export class UpstreamConnection {
  /** When its last exchange ended, or it was opened; on the clock of `performance`. */
  idleSince = performance.now();
  /** No exchange begins on it after this, on the same clock. */
  usedUntil = Number.POSITIVE_INFINITY;
  /** For the socket, which has to be made with it. */
  readonly onread: OnReadOpts = { buffer: READ_BYTES, callback: (length) => this.#read(length) };
  #socket: Socket | undefined;
  #listener: AnswerListener | undefined;
  #reader = new ResponseReader();
  #error: Error | undefined;

  /** Goes on with a socket that stands. */
  attach(socket: Socket): this {
    this.#socket = socket;
    socket.on('error', (error) => {
      this.#error = error;
    });
    socket.on('end', () => this.#end());
    socket.on('close', () => this.#fail(this.#error ?? new Error('the upstream closed the connection')));
    socket.on('drain', () => this.#drain());
    return this;
  }

  get isOpen(): boolean {
    return this.#socket?.readyState === 'open';
  }

  /** Nothing that was written waits here for the upstream to take it. */
  get hasSentAll(): boolean {
    return this.#socket?.writableLength === 0;
  }

  /** Begins a request. Nothing leaves before `flush`, so that its body leaves with its head where it is there already. */
  begin(head: string, listener: AnswerListener): void {
    this.#listener = listener;
    this.#reader = new ResponseReader();
    this.#socket?.cork();
    this.#socket?.write(head, 'latin1');
  }

  flush(): void {
    this.#socket?.uncork();
  }

  /** Sends more of a request. False: the rest may wait until `onDrain`. */
  write(bytes: Buffer | string): boolean {
    return this.#socket?.write(bytes) ?? false;
  }

  resume(): void {
    this.#socket?.resume();
  }

  /** Drops the connection, and with it what is under way: nothing is heard of that. */
  destroy(): void {
    this.#listener = undefined;
    this.#socket?.destroy();
  }

  #read(length: number): boolean {
    const listener = this.#listener;
    const reader = this.#reader;
    // Without a request, no incoming bytes are a response.
    if (!listener) {
      this.destroy();
      return true;
    }
    let body: Buffer | undefined;
    try {
      body = reader.read(READ_BYTES.subarray(0, length));
    } catch (error) {
      this.destroy();
      listener.onFailure(error as Error);
      return true;
    }
    if (reader.isWhole) this.#listener = undefined;
    return !reader.isBegun || this.#pass(listener, body);
  }

  #end(): void {
    const listener = this.#listener;
    if (!listener || !this.#reader.end()) return;
    this.#listener = undefined;
    this.#pass(listener, undefined);
  }

  #pass(listener: AnswerListener, body: Buffer | undefined): boolean {
    try {
      return listener.onAnswer(this.#reader, body);
    } catch (error) {
      this.#dropFor(listener, error);
      return true;
    }
  }

  #drain(): void {
    const listener = this.#listener;
    try {
      listener?.onDrain();
    } catch (error) {
      this.#dropFor(listener, error);
    }
  }

  /** Ends an exchange whose listener threw. */
  #dropFor(listener: AnswerListener | undefined, error: unknown): void {
    this.destroy();
    listener?.onFailure(new ListenerError(error));
  }

  #fail(error: Error): void {
    const listener = this.#listener;
    this.#listener = undefined;
    listener?.onFailure(error);
  }
}
