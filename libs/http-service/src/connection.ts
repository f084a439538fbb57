import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { REQUEST_ID_HEADER } from '@turnpike/public-api/headers';
import { invalid, toErrorHeaders, type WireError } from '@turnpike/public-api/wireError';
import { lingeringClose } from './lingeringClose.ts';
import { newUuidV7 } from './newUuidV7.ts';
import { sendWireError } from './sendWireError.ts';

/**
 * Requests of all connections of a listener that wait for their turn: some 30 MB. Only connections that pipeline have any,
 * and no client of this API does.
 */
const MAX_WAITING = 10_000;
/** Longest time that a client takes nothing of what it has been answered: as long as it may keep a connection idle. */
const UNREAD_MS = 60_000;

/** How many requests of a listener wait for their turn. */
interface WaitingRoom {
  taken: number;
}

interface Call {
  req: IncomingMessage;
  res: ServerResponse;
  /** The request is refused whatever it asks for. */
  isRefused: boolean;
  /** The connection closes with its answer. */
  isLast: boolean;
}

/**
 * One connection, whose requests are answered in turn: the next one is begun when the answer before it has ended, and what is
 * no request is refused when all answers before it have. So nothing is ever written where another answer is due, and
 * requests sent in one write are no more load than one at a time. While something waits, nothing more is read.
 */
export class Connection {
  /** When the last answer ended, or the connection was opened; on the clock of `performance`. */
  idleSince = performance.now();
  readonly #socket: Socket;
  readonly #serve: RequestListener;
  readonly #malformed: WireError;
  readonly #room: WaitingRoom;
  /** Longest time for a head to arrive, in milliseconds. */
  readonly #headMs: number;
  /** Requests whose answers have not ended, in the order they came: the first is being answered, the others wait. */
  #calls: Call[] = [];
  /** Its body may still be coming, even where its answer has ended. */
  #latest: Call | undefined;
  #isBroken = false;
  #isHeld = false;
  /** A request took too long while its connection was not read, so its sender gets the time once more. */
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
    // The HTTP server closes by this one, after an answer that is the last.
    socket.destroySoon = () => this.#close();
    // The HTTP server has one too, but not for a connection that it has let go of.
    socket.on('timeout', () => socket.destroy());
    // A request that has been read whole makes the HTTP server go on reading.
    socket.on('resume', () => {
      if (this.#isHeld) socket.pause();
    });
    socket.once('close', () => this.#clear());
  }

  /** Answers that have not ended. */
  get answers(): ServerResponse[] {
    return this.#calls.map(({ res }) => res);
  }

  /** Takes a request, to be answered in its turn. After the last, or what is none, there is nothing that is due an answer. */
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
   * Refuses all that follows: it is no request, or its body is broken or too slow. The connection closes once that has
   * been said in its turn.
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
      // The client has left.
      socket.destroy();
    } else {
      this.#hold();
    }
  }

  /** Refuses a request that came too slowly. It is not late while this server itself reads no further. */
  refuseLate(): void {
    if (this.#isHeld && !this.#isBroken) this.#isLateByHold = true;
    else this.refuseRest();
  }

  /** A tunnel was asked for: with that the HTTP server has let go of the connection. */
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
    // The answer may take as long as it does. Once it has been given, it is for the client to take it.
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

  /** Broken bytes of a request that has its answer are that request's; and who has sent nothing is told nothing. */
  #endBroken(): void {
    if (this.#latest?.req.complete === false || this.#socket.bytesRead === 0) this.#close();
    else this.#refuse();
  }

  /** Refuses a request whose answer has not begun, and has whoever works on it stop. */
  #refuseInsteadOf({ res }: Call): void {
    res.detachSocket(this.#socket);
    this.#refuse();
    res.destroy();
    res.emit('close');
  }

  /** The HTTP server bounds how long a connection is idle once the kernel has all of an answer, which it mostly has at once. */
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

/** An answer without a request that it could belong to. */
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

/** 400 of what is no request of HTTP/1.0 or 1.1, or can be read in two ways. */
export function toMalformedRequest(): WireError {
  return invalid('The request is not well-formed HTTP, has too many or too large headers, or arrived too slowly.');
}

const connectionsByServer = new WeakMap<Server, Map<Socket, Connection>>();

/** Makes a server answer the requests of each connection in turn. Call it before the server listens. */
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
    // The parser takes other versions for one of these two. HTTP/1.0 has no chunks: a proxy before us may see another body.
    const isRefused =
      req.httpVersion !== '1.1' && (req.httpVersion !== '1.0' || req.headers['transfer-encoding'] !== undefined);
    // An offer to upgrade is not taken up; but the parser has let go of what came behind it.
    const isLast = isRefused || req.headers.upgrade !== undefined;
    connections.get(req.socket)?.add({ req, res, isRefused, isLast });
  });
  // Something other than `100-continue`.
  server.on('checkExpectation', (req: IncomingMessage, res: ServerResponse) =>
    connections.get(req.socket)?.add({ req, res, isRefused: true, isLast: true }),
  );
  // Without these listeners Node writes what it has to say at once, or drops the connection and says nothing.
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const connection = connections.get(socket as Socket);
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') connection?.refuseLate();
    else connection?.refuseRest();
  });
  server.on('connect', (_req, socket) => connections.get(socket as Socket)?.refuseTunnel());
}

/** The open connections of a server that `listen` has started. */
export function connectionsOf(server: Server): ReadonlyMap<Socket, Connection> {
  return connectionsByServer.get(server) ?? new Map();
}

const CR = 0x0d;
const LF = 0x0a;

/** Copies bytes into one chunk of HTTP/1.1 (RFC 9112, Chunked Transfer Coding): Node writes one in four parts. */
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
