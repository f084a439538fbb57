import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { REQUEST_ID_HEADER } from '@turnpike/public-api/headers';
import { invalid, toErrorHeaders, type WireError } from '@turnpike/public-api/wireError';
import { lingeringClose } from './lingeringClose.ts';
import { newUuidV7 } from './newUuidV7.ts';
import { sendWireError } from './sendWireError.ts';

/**
 * Most waiting requests of all connections of a listener, some 30 MB. Only connections that pipeline have any, and no
 * client of this API pipelines.
 */
const MAX_WAITING = 10_000;
/** Longest time that a client may leave an answer unread, equal to the idle time of a connection. */
const UNREAD_MS = 60_000;

/** Number of waiting requests of a listener. */
interface WaitingRoom {
  taken: number;
}

interface Call {
  req: IncomingMessage;
  res: ServerResponse;
  /** Whether the request is refused in any case. */
  isRefused: boolean;
  /** Whether the connection closes after the answer. */
  isLast: boolean;
}

/**
 * One connection, whose requests are answered in turn. The next request begins when the answer before it has ended.
 * Malformed bytes are refused after all earlier answers. So no answer is written in the place of another, and pipelined
 * requests are no more load than one at a time. The connection is not read while a request waits.
 */
export class Connection {
  /** End of the last answer, or the opening of the connection; on the clock of `performance`. */
  idleSince = performance.now();
  readonly #socket: Socket;
  readonly #serve: RequestListener;
  readonly #malformed: WireError;
  readonly #room: WaitingRoom;
  /** Longest time for a head to arrive, in milliseconds. */
  readonly #headMs: number;
  /** Requests without a complete answer, in the order of arrival. The first is being answered, and the others wait. */
  #calls: Call[] = [];
  /** The last request. Its body may still be incomplete, even after its answer. */
  #latest: Call | undefined;
  #isBroken = false;
  #isHeld = false;
  /** Whether a request timed out while its connection was not read. Its sender then gets the time again. */
  #isLateByHold = false;
  #late: NodeJS.Timeout | undefined;

  constructor(
    socket: Socket,
    {
      serve,
      malformed,
      room,
      headMs,
    }: { serve: RequestListener; malformed: WireError; room: WaitingRoom; headMs: number },
  ) {
    this.#socket = socket;
    this.#serve = serve;
    this.#malformed = malformed;
    this.#room = room;
    this.#headMs = headMs;
    // The HTTP server calls this after a last answer.
    socket.destroySoon = () => this.#close();
    // The HTTP server's own listener is gone after it has released the connection.
    socket.on('timeout', () => socket.destroy());
    // The HTTP server resumes reading after a complete request.
    socket.on('resume', () => {
      if (this.#isHeld) socket.pause();
    });
    socket.once('close', () => this.#clear());
  }

  /** Incomplete answers. */
  get answers(): ServerResponse[] {
    return this.#calls.map(({ res }) => res);
  }

  /** Adds a request, to be answered in its turn. Ignores everything after the last request or after malformed bytes. */
  add(call: Call): void {
    const socket = this.#socket;
    clearTimeout(this.#late);
    if (!socket.writable) return;
    if (this.#isBroken || this.#latest?.isLast) {
      this.#hold();
      return;
    }
    this.#latest = call;
    this.#calls.push(call);
    if (call.isLast) call.res.shouldKeepAlive = false;
    call.res.on('close', this.#goOn);
    if (this.#calls.length === 1) {
      this.#answerFirst();
      return;
    }
    this.#room.taken += 1;
    if (this.#room.taken > MAX_WAITING) socket.destroy();
    else this.#hold();
  }

  /**
   * Refuses the rest of the connection: malformed bytes, or a body that is broken or too slow. The refusal has its
   * turn, and then the connection closes.
   */
  refuseRest(): void {
    const socket = this.#socket;
    if (this.#isBroken || socket.destroyed || socket.writableEnded) return;
    this.#isBroken = true;
    const [first] = this.#calls;
    if (first === undefined) {
      this.#endBroken();
    } else if (first === this.#latest && !first.req.complete && !first.res.writableEnded) {
      if (first.res.headersSent) socket.destroy();
      else this.#refuseInsteadOf(first);
    } else if (socket.readableEnded) {
      // The client has closed its side.
      socket.destroy();
    } else {
      this.#hold();
    }
  }

  /**
   * Refuses a request that arrived too slowly. Time during which this server does not read the connection does not
   * count.
   */
  refuseLate(): void {
    if (this.#isHeld && !this.#isBroken) this.#isLateByHold = true;
    else this.refuseRest();
  }

  /** Refuses a request for a tunnel, after which the HTTP server has released the connection. */
  refuseTunnel(): void {
    const socket = this.#socket;
    socket.on('error', () => {}); // the socket closes by itself
    socket.on('drain', () => this.#calls[0]?.res.emit('drain'));
    if (socket.writableEnded) socket.resume();
    else this.refuseRest();
  }

  #answerFirst(): void {
    const [first] = this.#calls;
    if (first === undefined) return;
    const { req, res } = first;
    // An answer may take any time. After its end the client's reading is bounded.
    this.#socket.setTimeout(0);
    res.on('prefinish', this.#boundUnread);
    const isCut = this.#isBroken && first === this.#latest && !req.complete;
    if (first.isRefused || isCut) {
      res.shouldKeepAlive = false;
      res.setHeader(REQUEST_ID_HEADER, newUuidV7());
      sendWireError(res, this.#malformed);
    } else {
      this.#serve(req, res);
    }
  }

  readonly #goOn = (): void => {
    this.idleSince = performance.now();
    if (!this.#socket.writable) {
      this.#clear();
      return;
    }
    this.#calls.shift();
    if (this.#calls.length === 0 && this.#latest?.req.complete) this.#latest = undefined;
    if (this.#calls.length > 0) {
      this.#room.taken -= 1;
      if (this.#calls.length === 1 && !this.#isBroken) this.#release();
      this.#answerFirst();
    } else if (this.#isBroken) {
      this.#endBroken();
    }
  };

  /**
   * Ends a broken connection. It closes without an answer if the broken bytes belong to an answered request, or if the
   * client has sent nothing.
   */
  #endBroken(): void {
    if (this.#latest?.req.complete === false || this.#socket.bytesRead === 0) this.#close();
    else this.#refuse();
  }

  /** Refuses a request before its answer has begun, and stops its handler. */
  #refuseInsteadOf({ res }: Call): void {
    res.detachSocket(this.#socket);
    this.#refuse();
    res.destroy();
    res.emit('close');
  }

  /**
   * Bounds the client's reading while bytes wait here. Otherwise the HTTP server bounds the idle time of the
   * connection.
   */
  readonly #boundUnread = (): void => {
    if (this.#socket.writableLength > 0) this.#socket.setTimeout(UNREAD_MS);
  };

  #refuse(): void {
    this.#socket.write(toRawAnswer(this.#malformed));
    this.#close();
  }

  #close(): void {
    this.#isHeld = false;
    if (this.#socket.writableEnded) return;
    this.#socket.setTimeout(UNREAD_MS);
    lingeringClose(this.#socket);
  }

  #hold(): void {
    this.#isHeld = true;
    this.#socket.pause();
  }

  #release(): void {
    this.#isHeld = false;
    if (this.#isLateByHold) this.#late = setTimeout(() => this.refuseRest(), this.#headMs).unref();
    this.#isLateByHold = false;
    this.#socket.resume();
  }

  #clear(): void {
    clearTimeout(this.#late);
    this.#room.taken -= Math.max(this.#calls.length - 1, 0);
    this.#calls = [];
  }
}

/** Returns the bytes of an answer that belongs to no request. */
function toRawAnswer({ status, body }: WireError): string {
  const payload = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status} Bad Request`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(payload)}`,
    `x-request-id: ${newUuidV7()}`,
    ...Object.entries(toErrorHeaders(body)).map(([name, value]) => `${name}: ${value}`),
    'connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${payload}`;
}

/** Returns the 400 for anything but a request of HTTP/1.0 or 1.1, and for an ambiguous one. */
export function toMalformedRequest(): WireError {
  return invalid('The request is not well-formed HTTP, has too many or too large headers, or arrived too slowly.');
}

const connectionsByServer = new WeakMap<Server, Map<Socket, Connection>>();

/** Makes a server answer the requests of each connection in turn. To be called before the server listens. */
export function serveInTurn(
  server: Server,
  { serve, malformed }: { serve: RequestListener; malformed: WireError },
): void {
  const connections = new Map<Socket, Connection>();
  const room: WaitingRoom = { taken: 0 };
  connectionsByServer.set(server, connections);
  server.on('connection', (socket: Socket) => {
    connections.set(socket, new Connection(socket, { serve, malformed, room, headMs: server.headersTimeout }));
    socket.once('close', () => connections.delete(socket));
  });
  server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    // The parser reads other versions as one of these two. HTTP/1.0 has no chunks, so a proxy before this server may
    // see another body.
    const isRefused =
      req.httpVersion !== '1.1' && (req.httpVersion !== '1.0' || req.headers['transfer-encoding'] !== undefined);
    // An upgrade is not accepted, but the parser has released the bytes behind it.
    const isLast = isRefused || req.headers.upgrade !== undefined;
    connections.get(req.socket)?.add({ req, res, isRefused, isLast });
  });
  // An `Expect` header other than `100-continue`.
  server.on('checkExpectation', (req: IncomingMessage, res: ServerResponse) =>
    connections.get(req.socket)?.add({ req, res, isRefused: true, isLast: true }),
  );
  // Without these listeners Node writes an error at once, or drops the connection without one.
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const connection = connections.get(socket as Socket);
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') connection?.refuseLate();
    else connection?.refuseRest();
  });
  server.on('connect', (_req, socket) => connections.get(socket as Socket)?.refuseTunnel());
}

/** Returns the open connections of a server that `listen` has started. */
export function connectionsOf(server: Server): ReadonlyMap<Socket, Connection> {
  return connectionsByServer.get(server) ?? new Map();
}

const CR = 0x0d;
const LF = 0x0a;

/**
 * Copies bytes into one chunk of HTTP/1.1 (RFC 9112, Chunked Transfer Coding), because Node writes a chunk in four
 * parts.
 */
export function toChunk(parts: readonly Buffer[]): Buffer {
  let bytes = 0;
  for (const part of parts) bytes += part.length;
  const size = bytes.toString(16);
  const chunk = Buffer.allocUnsafe(size.length + bytes + 4);
  let end = chunk.write(size, 'latin1');
  chunk[end] = CR;
  chunk[end + 1] = LF;
  end += 2;
  for (const part of parts) end += part.copy(chunk, end);
  chunk[end] = CR;
  chunk[end + 1] = LF;
  return chunk;
}
