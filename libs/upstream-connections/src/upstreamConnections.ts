import { connect, isIP, type NetConnectOpts, type OnReadOpts, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectEncrypted } from 'node:tls';
import { startDeadline } from '@turnpike/lifecycle/startDeadline';
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
  #socket: Socket | undefined;
  #listener: AnswerListener | undefined;
  #reader = new ResponseReader();
  #error: Error | undefined;

  readonly #read = (length: number): boolean => {
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
  };

  /** For the socket, which has to be made with it. */
  readonly onread: OnReadOpts = { buffer: READ_BYTES, callback: this.#read };

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

  /** Whether the upstream has taken all that was written. */
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

export interface UpstreamConnectionsOptions {
  /** Opens one more, within a deadline of its own: a socket that is read as `onread` says. */
  connect: (onread: OnReadOpts) => Promise<Socket>;
  /** Most requests that wait for a connection at once. Those above have theirs refused. */
  maxConnecting: number;
  /** Idle connections are let go after this time. */
  idleMs: number;
  maxIdle: number;
  /**
   * Longest time that a connection is used. Each connection is used for at least half of it. If one address has several servers, a new
   * server gets its share of connections within this time. Undefined: no limit.
   */
  maxAgeMs?: number;
}

/** The connections to one upstream. A request gets one that stands, so whatever fails before that was never sent. */
export class UpstreamConnections {
  readonly #options: UpstreamConnectionsOptions;
  /** The one idle for the longest first. */
  readonly #idle: UpstreamConnection[] = [];
  #connecting = 0;
  #isClosed = false;

  constructor(options: UpstreamConnectionsOptions) {
    this.#options = options;
  }

  /** A connection that waits for a request, the one used last: the others may be let go. */
  takeIdle(): UpstreamConnection | undefined {
    for (let connection = this.#idle.pop(); connection; connection = this.#idle.pop()) {
      if (connection.isOpen && !this.#isStale(connection) && performance.now() < connection.usedUntil)
        return connection;
      connection.destroy();
    }
    return undefined;
  }

  /** Opens one more. Rejects with a `NotSentError`, or as `connect` does. */
  async open(): Promise<UpstreamConnection> {
    const { connect, maxConnecting, maxAgeMs = Number.POSITIVE_INFINITY } = this.#options;
    if (this.#connecting >= maxConnecting) throw new NotSentError(`${maxConnecting} requests wait for a connection`);
    this.#connecting += 1;
    try {
      const connection = new UpstreamConnection();
      // The time is random, so that connections opened together are not replaced together.
      connection.usedUntil = performance.now() + (maxAgeMs * (1 + Math.random())) / 2;
      return connection.attach(await connect(connection.onread));
    } finally {
      this.#connecting -= 1;
    }
  }

  /** Takes a connection back whose exchange is over, both ways. */
  release(connection: UpstreamConnection): void {
    if (this.#isClosed || this.#idle.length >= this.#options.maxIdle || !connection.isOpen) {
      connection.destroy();
      return;
    }
    connection.idleSince = performance.now();
    this.#idle.push(connection);
  }

  /** Closes what has been idle for too long. */
  closeStale(): void {
    const firstKept = this.#idle.findIndex((connection) => !this.#isStale(connection));
    for (const stale of this.#idle.splice(0, firstKept < 0 ? this.#idle.length : firstKept)) stale.destroy();
  }

  /** Closes the idle connections; those in use close with their answers. */
  close(): void {
    this.#isClosed = true;
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }

  #isStale({ idleSince }: UpstreamConnection): boolean {
    return performance.now() - idleSince >= this.#options.idleMs;
  }
}

/** The upstream has seen nothing of the request. */
export class NotSentError extends Error {
  override name = 'NotSentError';
}

/**
 * Opens a TCP connection. Rejects with the system's error, or with a `NotSentError` after `timeoutMs`. A busy upstream
 * queues connections, and its kernel drops some, which the client's kernel retries after 1, 3 and 7 s.
 */
export const openSocket = (options: NetConnectOpts, { timeoutMs }: { timeoutMs: number }): Promise<Socket> =>
  untilOpen(connect(options), 'connect', timeoutMs);

/** The same with TLS, whose handshake is within the time as well. The certificate has to be one of the host's. */
export const openEncryptedSocket = (
  options: Pick<ConnectionOptions, 'port' | 'ca'> & { host: string; noDelay?: boolean; onread?: OnReadOpts },
  { timeoutMs }: { timeoutMs: number },
): Promise<Socket> => {
  const { host } = options;
  const socket = connectEncrypted({ ...options, servername: isIP(host) ? '' : host, ALPNProtocols: ['http/1.1'] });
  return untilOpen(socket, 'secureConnect', timeoutMs);
};

const hearNothing = (): void => {};

function untilOpen(socket: Socket, opened: 'connect' | 'secureConnect', timeoutMs: number): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const giveUp = (): void => void socket.destroy(new NotSentError(`not connected within ${Math.ceil(timeoutMs)} ms`));
  // If this process was held up itself, a connection that is open but was not seen yet comes first.
  const { stop: stopWaiting } = startDeadline(Math.max(0, timeoutMs), giveUp);
  socket.once(opened, () => {
    stopWaiting();
    // A connection may last for long, so it keeps none of these listeners. Its user listens for errors a moment later. Until then one
    // listener stands, because an error without a listener would end the process.
    socket.off('error', reject).off('close', stopWaiting).on('error', hearNothing);
    resolve(socket);
  });
  socket.once('error', reject);
  socket.once('close', stopWaiting);
  return promise;
}
