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
  #data: Buffer[] = [];
  #dataBytes = 0;

  /** The data of every event that is complete now; `too_large` for one over 4 MiB, after which nothing can be read. */
  push(chunk: Buffer): Buffer[] | 'too_large' {
    const events = chunk.includes(LF) ? this.#takeLines(chunk) : this.#keep(chunk);
    return this.#restBytes + this.#dataBytes > MAX_EVENT_BYTES ? 'too_large' : events;
  }

  #keep(chunk: Buffer): Buffer[] {
    this.#rest.push(chunk);
    this.#restBytes += chunk.length;
    return [];
  }

  #takeLines(chunk: Buffer): Buffer[] {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([...this.#rest, chunk]);
    this.#rest = [];
    this.#restBytes = 0;
    const events: Buffer[] = [];
    let start = 0;
    for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, start)) {
      const event = this.#takeLine(bytes.subarray(start, bytes[end - 1] === CR && end > start ? end - 1 : end));
      if (event) events.push(event);
      start = end + 1;
    }
    if (start < bytes.length) this.#keep(bytes.subarray(start));
    return events;
  }

  /** An empty line ends the event, which is none if it has no data; of the other lines only data lines count. */
  #takeLine(line: Buffer): Buffer | undefined {
    if (line.length === 0) {
      const data = this.#data;
      this.#data = [];
      if (this.#dataBytes === 0) return undefined;
      this.#dataBytes = 0;
      return data.length === 1
        ? data[0]
        : Buffer.concat(data.flatMap((part, index) => (index === 0 ? [part] : [Buffer.from('\n'), part])));
    }
    if (line.length > DATA.length && line[DATA.length] === COLON && line.subarray(0, DATA.length).equals(DATA)) {
      const value = line.subarray(line[DATA.length + 1] === SPACE ? DATA.length + 2 : DATA.length + 1);
      this.#data.push(value);
      this.#dataBytes += value.length;
    }
    return undefined;
  }
}
