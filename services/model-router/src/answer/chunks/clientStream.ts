import type { ServerResponse } from 'node:http';
import { toChunk } from '@turnpike/http-service/connection';
import { OrderedSet } from '@turnpike/lifecycle/orderedSet';
import { UNBUFFERED } from '@turnpike/public-api/headers';
import type { Payload } from '../fields/answerFields.ts';

/** One line without a blank line after it, because some clients read a blank line as the end of an event. */
const COMMENT = Buffer.from(': keep-alive\n');
const LAST_CHUNK = Buffer.from('0\r\n\r\n');
const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  ...UNBUFFERED,
};
const CHUNKED_HEADERS = { ...STREAM_HEADERS, 'transfer-encoding': 'chunked' };

export interface ClientStreamOptions {
  /** After this long without a first event the headers go out, and the status can no longer change. */
  headersAfterMs: number;
  keepAliveMs: number;
  /** Time after which a client that reads nothing is dropped. */
  slowReaderMs: number;
}

/** Follows the client of a stream. */
export interface StreamReader {
  /** Called once the client has gone or has read nothing for `slowReaderMs`. The stream is over. */
  clientLeft(): void;
  /** Called once the client has read all that was sent, so that more may be written. */
  clientRead(): void;
}

/**
 * The client's end of a stream. Headers wait for the first event, so that a refusal has its HTTP status, but for
 * `headersAfterMs` at most. Comment lines or an API's own event fill a silence. A client that reads nothing for
 * `slowReaderMs` is cut. Only the bytes that one write could not deliver are buffered: the caller stops writing when
 * `write` returns false.
 */
export class ClientStream {
  readonly #res: ServerResponse;
  readonly #options: ClientStreamOptions;
  readonly #keepAlive: Buffer;
  /** False for clients of HTTP/1.0, which read no chunks. */
  readonly #isChunked: boolean;
  #isOver = false;
  /** The attempt in progress. */
  reader: StreamReader | undefined;
  #isFull = false;
  #quietTimer: NodeJS.Timeout;
  #slowTimer: NodeJS.Timeout | undefined;

  /** `keepAlive` fills a silence: a comment line, unless the API has an event for it. */
  constructor(res: ServerResponse, options: ClientStreamOptions, keepAlive: Buffer = COMMENT) {
    this.#res = res;
    this.#options = options;
    this.#keepAlive = keepAlive;
    this.#isChunked = res.useChunkedEncodingByDefault;
    this.#quietTimer = setTimeout(() => this.#fillSilence(), options.headersAfterMs);
    res.on('drain', this.#onDrain);
    res.on('close', this.#onClose);
    // A client that left while its call was admitted sends no further event.
    if (res.destroyed) this.#leave();
  }

  /** Whether the status line has left, after which an error can only be an event. */
  get hasBegun(): boolean {
    return this.#res.headersSent;
  }

  /** Whether the client has gone, so that another attempt is useless. */
  get hasLeft(): boolean {
    return this.#isOver || this.#res.destroyed;
  }

  /**
   * Sends events. Returns false if the client has not read them yet. `clientRead` of the reader is called once it has.
   */
  write(events: readonly Buffer[]): boolean {
    if (this.#isOver) return true;
    if (this.#res.headersSent) this.#quietTimer.refresh();
    else this.#begin();
    if (this.#res.write(this.#toPiece(events))) return true;
    this.#isFull = true;
    this.#slowTimer ??= setTimeout(() => this.#leave(), this.#options.slowReaderMs);
    return false;
  }

  /**
   * Ends a stream with its last events. The call is over, so a client that does not read them is cut without notice.
   */
  end(lastEvents: Payload): void {
    if (this.#isOver) return;
    if (!this.#res.headersSent) this.#begin();
    this.#finish();
    const piece = this.#toPiece([typeof lastEvents === 'string' ? Buffer.from(lastEvents) : lastEvents]);
    this.#res.end(this.#isChunked ? Buffer.concat([piece, LAST_CHUNK]) : piece);
    if (this.#res.writableLength > 0) cutSlowReader(this.#res, this.#options.slowReaderMs);
  }

  /** Drops a client that does not read, without an error event: the client would not read that either. */
  cut(): void {
    this.#leave();
  }

  /**
   * Detaches from the response without writing. To be called before anything was sent; the caller then answers itself.
   */
  detach(): void {
    this.#finish();
  }

  /** Writes the headers, which leave with the next write. */
  #begin(): void {
    this.#res.writeHead(200, this.#isChunked ? CHUNKED_HEADERS : STREAM_HEADERS);
    // Chunks are framed here, because Node would write the size, the bytes and the end of each separately.
    this.#res.chunkedEncoding = false;
    clearTimeout(this.#quietTimer);
    this.#quietTimer = setTimeout(() => this.#fillSilence(), this.#options.keepAliveMs);
  }

  #toPiece(events: readonly Buffer[]): Buffer {
    if (this.#isChunked) return toChunk(events);
    return events.length === 1 && events[0] ? events[0] : Buffer.concat(events);
  }

  #fillSilence(): void {
    if (this.#isOver) return;
    if (this.hasBegun) {
      this.#res.write(this.#toPiece([this.#keepAlive]));
      this.#quietTimer.refresh();
    } else {
      this.#begin();
      this.#res.flushHeaders();
    }
  }

  readonly #onDrain = (): void => {
    clearTimeout(this.#slowTimer);
    this.#slowTimer = undefined;
    // `clientRead` may write at once and set the flag again.
    const wasFull = this.#isFull;
    this.#isFull = false;
    if (wasFull && !this.#isOver) this.reader?.clientRead();
  };

  readonly #onClose = (): void => this.#leave();

  #leave(): void {
    if (this.#isOver) return;
    this.#finish();
    this.#res.destroy();
    this.reader?.clientLeft();
  }

  #finish(): void {
    this.#isOver = true;
    clearTimeout(this.#quietTimer);
    clearTimeout(this.#slowTimer);
    this.#res.off('drain', this.#onDrain);
    this.#res.off('close', this.#onClose);
  }
}

/**
 * Destroys a response that was ended but not read, because its unread bytes wait in memory. A long answer on a slow
 * line arrives, because any progress counts. The response is destroyed when nothing has moved for `timeoutMs`, which is
 * noticed after twice that time at the latest.
 */
export function cutSlowReader(res: ServerResponse, timeoutMs: number): void {
  // The socket's own timer restarts while the write queue shrinks, and returns to its keep-alive value afterwards.
  res.setTimeout(timeoutMs, () => res.destroy());
}

/** The streams in progress in this process. All end before the process does. */
export class OpenStreams {
  /** For each stream in progress, the function that ends it. */
  readonly open = new OrderedSet<() => void>();
  /** Whether every stream has been cut, so that no other may begin. Changed here alone. */
  isCut = false;

  /** Ends every stream in progress, and every later one at its start. */
  cutAll(): void {
    this.isCut = true;
    for (const cut of this.open) cut();
  }
}
