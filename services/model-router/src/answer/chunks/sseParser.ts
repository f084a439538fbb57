const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const DATA = Buffer.from('data');

/** Longest event taken from an engine; a larger one means the engine has gone wrong. */
const MAX_EVENT_BYTES = 4 * 1_048_576;

/**
 * Cuts a byte stream into the data of its server-sent events, whatever the sizes the bytes arrive in: an event over many
 * reads, many in one, CR LF line ends, comments, several data lines. Bytes are never decoded, so a character split
 * between two reads stays whole.
 */
export class SseParser {
  /** The line that has yet to end, as it came: put together only then, or a long one would be copied again at each read. */
  #rest: Buffer[] = [];
  #restBytes = 0;
  /** The data lines of the event that has yet to end. */
  #data: Buffer[] = [];
  #dataBytes = 0;

  /** The data of every event that is complete now; `too_large` for one over 4 MiB, after which nothing can be read. */
  push(chunk: Buffer): Buffer[] | 'too_large' {
    const events: Buffer[] = [];
    if (this.#restBytes === 0) this.#takeLines(chunk, events);
    else if (chunk.includes(LF)) this.#takeLines(this.#takeRest(chunk), events);
    else this.#keep(chunk);
    return this.#restBytes + this.#dataBytes > MAX_EVENT_BYTES ? 'too_large' : events;
  }

  #keep(chunk: Buffer): void {
    this.#rest.push(chunk);
    this.#restBytes += chunk.length;
  }

  /** The line that was kept, with what has come of it now. */
  #takeRest(chunk: Buffer): Buffer {
    const bytes = Buffer.concat([...this.#rest, chunk]);
    this.#rest = [];
    this.#restBytes = 0;
    return bytes;
  }

  #takeLines(bytes: Buffer, events: Buffer[]): void {
    let start = 0;
    for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, start)) {
      const lineEnd = end > start && bytes[end - 1] === CR ? end - 1 : end;
      if (lineEnd === start) this.#endEvent(events);
      else this.#takeLine(bytes, start, lineEnd);
      start = end + 1;
    }
    if (start < bytes.length) this.#keep(bytes.subarray(start));
  }

  /** An event without data is none. */
  #endEvent(events: Buffer[]): void {
    const data = this.#data;
    if (data.length === 0) return;
    this.#data = [];
    if (this.#dataBytes === 0) return;
    this.#dataBytes = 0;
    events.push(
      data.length === 1 && data[0]
        ? data[0]
        : Buffer.concat(data.flatMap((part, index) => (index === 0 ? [part] : [Buffer.from('\n'), part]))),
    );
  }

  /** Only data lines count. */
  #takeLine(bytes: Buffer, start: number, end: number): void {
    const colon = start + DATA.length;
    if (end <= colon || bytes[colon] !== COLON) return;
    for (let index = 0; index < DATA.length; index += 1) if (bytes[start + index] !== DATA[index]) return;
    const value = bytes.subarray(bytes[colon + 1] === SPACE ? Math.min(colon + 2, end) : colon + 1, end);
    this.#data.push(value);
    this.#dataBytes += value.length;
  }
}
