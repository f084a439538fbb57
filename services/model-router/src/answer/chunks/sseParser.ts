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
 * Cuts a byte stream into the data of its server-sent events, whatever the sizes the bytes arrive in: an event over many
 * reads, many in one, CR LF line ends, comments, several data lines. Bytes are never decoded, so a character split
 * between two reads stays whole. Of what has yet to end nothing is kept but the bytes that are bounded, in memory of their own.
 */
export class SseParser {
  /** The line that has yet to end, as it came. */
  readonly #rest = new GrowingBytes();
  /** The data of the event that has yet to end: a line of the read under way, or all lines. */
  #line: Buffer | undefined;
  readonly #data = new GrowingBytes();
  /** Whether any data line was not empty. */
  #hasData = false;

  /** The data of every event that is complete now; `too_large` for one over 4 MiB, after which nothing can be read. */
  push(chunk: Buffer): Buffer[] | 'too_large' {
    const events: Buffer[] = [];
    if (this.#rest.length === 0) this.#takeLines(chunk, events);
    else if (chunk.includes(LF)) this.#takeLines(Buffer.concat([this.#rest.take(), chunk]), events);
    else this.#rest.append(chunk);
    if (this.#line) this.#keepLine(this.#line);
    return this.#rest.length + this.#data.length > MAX_EVENT_BYTES ? 'too_large' : events;
  }

  #takeLines(bytes: Buffer, events: Buffer[]): void {
    let start = 0;
    for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, start)) {
      const lineEnd = end > start && bytes[end - 1] === CR ? end - 1 : end;
      if (lineEnd === start) this.#endEvent(events);
      else this.#takeLine(bytes, start, lineEnd);
      start = end + 1;
    }
    if (start < bytes.length) this.#rest.append(bytes.subarray(start));
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

/** Bytes that are put together piece by piece: a piece by itself would take more memory than its bytes, and keep all that was read with it. */
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
