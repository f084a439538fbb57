import type { ServerResponse } from 'node:http';
import { toChunk } from '@turnpike/http-service/connection';
import { OrderedSet } from '@turnpike/lifecycle/orderedSet';
import { UNBUFFERED } from '@turnpike/public-api/headers';
import type { Payload } from '../fields/answerFields.ts';

/** One line, and no blank one: some clients take a blank line for the end of an event, though it be empty. */
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
  /** A client that reads nothing for so long is dropped. */
  slowReaderMs: number;
}

/** Follows the client of a stream. */
export interface StreamReader {
  /** The client is gone, or reads nothing: its stream is over. */
  clientLeft(): void;
  /** The client has read all that was sent, and more may come. */
  clientRead(): void;
}

/**
 * The client's end of a stream. Headers wait for the first event, so that a refusal has its HTTP status, but no longer
 * than `headersAfterMs`; silence is filled with comment lines or an API's own event; a client that stops reading is cut after a
 * while. Nothing is buffered beyond what one write could not deliver: the caller stops writing when `write` says so.
 */
export class ClientStream {
  readonly #res: ServerResponse;
  readonly #options: ClientStreamOptions;
  readonly #keepAlive: Buffer;
  /** Of each client but those of HTTP/1.0. */
  readonly #isChunked: boolean;
  #isOver = false;
  /** The attempt under way. */
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

  /** Whether the client is gone: nobody would read another attempt. */
  get hasLeft(): boolean {
    return this.#isOver || this.#res.destroyed;
  }

  /** Sends events. Returns false when the client has not read them yet: the reader is told of it once it has. */
  write(events: readonly Buffer[]): boolean {
    if (this.#isOver) return true;
    if (this.#res.headersSent) this.#quietTimer.refresh();
    else this.#begin();
    if (this.#res.write(this.#toPiece(events))) return true;
    this.#isFull = true;
    this.#slowTimer ??= setTimeout(() => this.#leave(), this.#options.slowReaderMs);
    return false;
  }

  /** Ends a stream with its last events. The call is over, so a client that does not read them is cut without a word to anyone. */
  end(lastEvents: Payload): void {
    if (this.#isOver) return;
    if (!this.#res.headersSent) this.#begin();
    this.#finish();
    const piece = this.#toPiece([typeof lastEvents === 'string' ? Buffer.from(lastEvents) : lastEvents]);
    this.#res.end(this.#isChunked ? Buffer.concat([piece, LAST_CHUNK]) : piece);
    if (this.#res.writableLength > 0) cutSlowReader(this.#res, this.#options.slowReaderMs);
  }

  /** Drops a client that does not read: no word would reach it. */
  cut(): void {
    this.#leave();
  }

  /** Lets go of the response without a word: nothing was sent, and the caller answers by itself. */
  detach(): void {
    this.#finish();
  }

  /** The headers leave with what is written next. */
  #begin(): void {
    this.#res.writeHead(200, this.#isChunked ? CHUNKED_HEADERS : STREAM_HEADERS);
    // Chunks are written here: Node would write the size, the bytes and the end of each by themselves.
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
    // Reading on may write at once, and find again that the client is slow.
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
 * Destroys a response that has been ended but not read: what its client has not taken waits in our memory. Only standing
 * still counts, so a long answer on a thin line arrives. It is cut when nothing has moved for `timeoutMs`, which is noticed
 * after twice that at the latest.
 */
export function cutSlowReader(res: ServerResponse, timeoutMs: number): void {
  // The socket's own timer: it starts again while its write queue shrinks, and goes back to its keep-alive afterwards.
  res.setTimeout(timeoutMs, () => res.destroy());
}

/** The streams under way in this process, which end before it does. */
export class OpenStreams {
  /** For each stream under way, the function that ends it. */
  readonly open = new OrderedSet<() => void>();
  /** Whether every stream has been cut, so that no other may begin. Changed here alone. */
  isCut = false;

  /** Ends every stream under way, and those that follow. */
  cutAll(): void {
    this.isCut = true;
    for (const cut of this.open) cut();
  }
}
