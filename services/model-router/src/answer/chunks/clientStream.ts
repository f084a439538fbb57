import type { WireError } from '@turnpike/api-errors/wireError';
import type { Response } from 'express';
import { cutSlowReader } from './cutSlowReader.ts';

const KEEP_ALIVE = ': keep-alive\n\n';
const DONE = Buffer.from('data: [DONE]\n\n');

export interface ClientStreamOptions {
  headers: Record<string, string>;
  /** After this long without a first event the headers go out, and the status can no longer change. */
  headersAfterMs: number;
  keepAliveMs: number;
  slowReaderTimeoutMs: number;
  /** The client is gone, or reads nothing: its stream is over. Called once at most. */
  onLeave: () => void;
  /** The client has read what it was sent: more may come. */
  onDrain: () => void;
}

/**
 * The client's end of a stream. Headers wait for the first event, so that a refusal has its HTTP status, but no longer
 * than `headersAfterMs`; silence is filled with comment lines; a client that stops reading is cut after a while. Nothing
 * is buffered beyond what one write could not deliver: the caller stops writing when `write` says so.
 */
export class ClientStream {
  readonly #res: Response;
  readonly #options: ClientStreamOptions;
  #isOver = false;
  #quietTimer: NodeJS.Timeout;
  #slowTimer: NodeJS.Timeout | undefined;

  constructor(res: Response, options: ClientStreamOptions) {
    this.#res = res;
    this.#options = options;
    this.#quietTimer = setTimeout(() => this.#fillSilence(), options.headersAfterMs);
    res.on('drain', this.#onDrain);
    res.on('close', this.#onClose);
  }

  /** Whether the status line has left, after which an error can only be an event. */
  get hasBegun(): boolean {
    return this.#res.headersSent;
  }

  /** Whether the client is gone: nobody would read another attempt. */
  get hasLeft(): boolean {
    return this.#isOver || this.#res.destroyed;
  }

  /** Sends events. False when the client has not read them yet: wait for `onDrain`. */
  write(events: Buffer): boolean {
    if (this.#isOver) return true;
    this.#begin();
    this.#rearmQuietTimer();
    if (this.#res.write(events)) return true;
    this.#slowTimer ??= setTimeout(() => this.#leave(), this.#options.slowReaderTimeoutMs);
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
      ...this.#options.headers,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    this.#res.flushHeaders();
  }

  /** Sends the last bytes. The call is over, so a client that does not read them is cut without a word to anyone. */
  #end(lastBytes: Buffer): void {
    this.#begin();
    this.#finish();
    this.#res.end(lastBytes);
    cutSlowReader(this.#res, this.#options.slowReaderTimeoutMs);
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
    if (!this.#isOver) this.#options.onDrain();
  };

  readonly #onClose = (): void => this.#leave();

  #leave(): void {
    if (this.#isOver) return;
    this.#finish();
    this.#res.destroy();
    this.#options.onLeave();
  }

  #finish(): void {
    this.#isOver = true;
    clearTimeout(this.#quietTimer);
    clearTimeout(this.#slowTimer);
    this.#res.off('drain', this.#onDrain);
    this.#res.off('close', this.#onClose);
  }
}
