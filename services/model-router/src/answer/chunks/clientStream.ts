import type { ServerResponse } from 'node:http';
import { UNBUFFERED } from '@turnpike/public-api/headers';
import type { WireError } from '@turnpike/public-api/wireError';

const KEEP_ALIVE = ': keep-alive\n\n';
const DONE = Buffer.from('data: [DONE]\n\n');

export interface ClientStreamOptions {
  /** After this long without a first event the headers go out, and the status can no longer change. */
  headersAfterMs: number;
  keepAliveMs: number;
  /** A client that reads nothing for so long is dropped. */
  slowReaderMs: number;
}

/**
 * The client's end of a stream. Headers wait for the first event, so that a refusal has its HTTP status, but no longer
 * than `headersAfterMs`; silence is filled with comment lines; a client that stops reading is cut after a while. Nothing
 * is buffered beyond what one write could not deliver: the caller stops writing when `write` says so.
 */
export class ClientStream {
  readonly #res: ServerResponse;
  readonly #options: ClientStreamOptions;
  readonly #left = new AbortController();
  #isOver = false;
  #onRead: (() => void) | undefined;
  #quietTimer: NodeJS.Timeout;
  #slowTimer: NodeJS.Timeout | undefined;

  constructor(res: ServerResponse, options: ClientStreamOptions) {
    this.#res = res;
    this.#options = options;
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

  /** Aborted when the client is gone, or reads nothing: its stream is over. */
  get left(): AbortSignal {
    return this.#left.signal;
  }

  /** Sends events. False when the client has not read them yet: `onRead` is called once it has, and more may come. */
  write(events: Buffer, onRead: () => void): boolean {
    if (this.#isOver) return true;
    this.#begin();
    this.#rearmQuietTimer();
    if (this.#res.write(events)) return true;
    this.#onRead = onRead;
    this.#slowTimer ??= setTimeout(() => this.#leave(), this.#options.slowReaderMs);
    return false;
  }

  /** Ends a stream that is whole, with one more event first if there is one. */
  done(lastEvent?: Buffer): void {
    if (this.#isOver) return;
    this.#end(lastEvent ? Buffer.concat([lastEvent, DONE]) : DONE);
  }

  /** Ends a stream that is not: one error event, no `[DONE]`. */
  fail({ body }: WireError): void {
    if (this.#isOver) return;
    this.#end(Buffer.from(`data: ${JSON.stringify(body)}\n\n`));
  }

  /** Drops a client that does not read: no word would reach it. */
  cut(): void {
    this.#leave();
  }

  /** Lets go of the response without a word: nothing was sent, and the caller answers by itself. */
  detach(): void {
    this.#finish();
  }

  #begin(): void {
    if (this.#res.headersSent) return;
    this.#res.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      ...UNBUFFERED,
    });
    this.#res.flushHeaders();
  }

  /** Sends the last bytes. The call is over, so a client that does not read them is cut without a word to anyone. */
  #end(lastBytes: Buffer): void {
    this.#begin();
    this.#finish();
    this.#res.end(lastBytes);
    cutSlowReader(this.#res, this.#options.slowReaderMs);
  }

  #fillSilence(): void {
    if (this.#isOver) return;
    if (this.hasBegun) this.#res.write(KEEP_ALIVE);
    else this.#begin();
    this.#rearmQuietTimer();
  }

  #rearmQuietTimer(): void {
    clearTimeout(this.#quietTimer);
    this.#quietTimer = setTimeout(() => this.#fillSilence(), this.#options.keepAliveMs);
  }

  readonly #onDrain = (): void => {
    clearTimeout(this.#slowTimer);
    this.#slowTimer = undefined;
    // Reading on may write at once, and be told again that the client is slow.
    const onRead = this.#onRead;
    this.#onRead = undefined;
    if (!this.#isOver) onRead?.();
  };

  readonly #onClose = (): void => this.#leave();

  #leave(): void {
    if (this.#isOver) return;
    this.#finish();
    this.#res.destroy();
    this.#left.abort();
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
