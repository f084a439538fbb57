const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const DATA = Buffer.from('data');
const LINE_END = Buffer.of(LF);
const NO_BYTES = Buffer.alloc(0);

/** Longest event taken from an engine; a larger one means the engine has gone wrong. */
const MAX_EVENT_BYTES = 4 * 1_048_576;

/**
 * Cuts a byte stream into the data of its server-sent events, whatever the sizes the bytes arrive in. An event may come over many
 * reads, or many in one, with CR LF line ends, comments and several data lines. Bytes are never decoded, so a character split
 * between two reads stays whole. Of what has yet to end nothing is kept but the bytes that are bounded, in memory of their own.
 */
export class SseParser {
  /** The line that has yet to end, as it came, where it may be one of data. */
  readonly #rest = new GrowingBytes();
  /** Bytes so far of a line that has yet to end and is none of data. */
  #skipped = 0;
  /** The data of the event that has yet to end: a line of the read under way, or all lines. */
  #line: Buffer | undefined;
  readonly #data = new GrowingBytes();
  /** Whether any data line was not empty. */
  #hasData = false;

  /**
   * Returns the data of every event that is complete now, as parts of `chunk` where they can be. Returns `too_large` for one over
   * 4 MiB, after which nothing can be read.
   */
  push(chunk: Buffer): Buffer[] | 'too_large' {
    const events: Buffer[] = [];
    const isLineBegun = this.#rest.length > 0 || this.#skipped > 0;
    const lineEnd = isLineBegun ? chunk.indexOf(LF) + 1 : 0;
    if (isLineBegun && lineEnd === 0) this.#keepRest(chunk);
    else {
      if (isLineBegun) this.#endRest(chunk.subarray(0, lineEnd), events);
      this.#takeLines(lineEnd === 0 ? chunk : chunk.subarray(lineEnd), events);
    }
    if (this.#line) this.#keepLine(this.#line);
    const bytes = this.#rest.length + this.#skipped + this.#data.length;
    return bytes > MAX_EVENT_BYTES ? 'too_large' : events;
  }

  /** Keeps more of a line that has yet to end. Of comments and other fields only the length counts. */
  #keepRest(bytes: Buffer): void {
    const mayBeData = this.#rest.length > 0 || bytes[0] === DATA[0] || bytes[0] === CR;
    if (this.#skipped === 0 && mayBeData) this.#rest.append(bytes);
    else this.#skipped += bytes.length;
  }

  #endRest(bytes: Buffer, events: Buffer[]): void {
    if (this.#skipped === 0) {
      this.#rest.append(bytes);
      this.#takeLines(this.#rest.take(), events);
    }
    this.#skipped = 0;
  }

  #takeLines(bytes: Buffer, events: Buffer[]): void {
    let start = 0;
    for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, start)) {
      const lineEnd = end > start && bytes[end - 1] === CR ? end - 1 : end;
      if (lineEnd === start) this.#endEvent(events);
      else this.#takeLine(bytes, start, lineEnd);
      start = end + 1;
    }
    if (start < bytes.length) this.#keepRest(bytes.subarray(start));
  }

  /** An event without data is none. */
  #endEvent(events: Buffer[]): void {
    const line = this.#line;
    if (line && this.#data.length > 0) this.#keepLine(line);
    const data = this.#data.length > 0 ? this.#data.take().subarray(0, -1) : line;
    if (data && this.#hasData) events.push(data);
    this.#line = undefined;
    this.#hasData = false;
  }

  /** Only data lines count. */
  #takeLine(bytes: Buffer, start: number, end: number): void {
    const colon = start + DATA.length;
    if (end <= colon || bytes[colon] !== COLON) return;
    for (let index = 0; index < DATA.length; index += 1) if (bytes[start + index] !== DATA[index]) return;
    const value = bytes.subarray(bytes[colon + 1] === SPACE ? Math.min(colon + 2, end) : colon + 1, end);
    if (this.#line) this.#keepLine(this.#line);
    this.#line = value;
    this.#hasData ||= value.length > 0;
  }

  #keepLine(line: Buffer): void {
    this.#data.append(line);
    this.#data.append(LINE_END);
    this.#line = undefined;
  }
}

/** Bytes that are put together piece by piece. A piece by itself would take more memory, and keep all that was read with it. */
class GrowingBytes {
  #room: Buffer = NO_BYTES;
  length = 0;

  append(bytes: Buffer): void {
    const length = this.length + bytes.length;
    if (length > this.#room.length) {
      const room = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#room.length));
      this.#room.copy(room, 0, 0, this.length);
      this.#room = room;
    }
    bytes.copy(this.#room, this.length);
    this.length = length;
  }

  take(): Buffer {
    const bytes = this.#room.subarray(0, this.length);
    this.#room = NO_BYTES;
    this.length = 0;
    return bytes;
  }
}
