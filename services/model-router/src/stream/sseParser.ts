const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const DATA = Buffer.from('data');

/** Longest event taken from an engine; a larger one means the engine has gone wrong. */
const MAX_EVENT_BYTES = 4 * 1_048_576;

export class EventTooLargeError extends Error {
  override name = 'EventTooLargeError';
}

/**
 * Cuts a byte stream into the data of its server-sent events, whatever the sizes the bytes arrive in: an event over many
 * reads, many in one, CR LF line ends, comments, several data lines. Bytes are never decoded, so a character split
 * between two reads stays whole.
 */
export class SseParser {
  #rest: Buffer = Buffer.alloc(0);
  #data: Buffer[] = [];
  #size = 0;

  /** The data of every event that is complete now. Throws `EventTooLargeError`. */
  push(chunk: Buffer): Buffer[] {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const events: Buffer[] = [];
    let start = 0;
    for (;;) {
      const end = bytes.indexOf(LF, start);
      if (end === -1) break;
      const event = this.#takeLine(bytes.subarray(start, bytes[end - 1] === CR && end > start ? end - 1 : end));
      if (event) events.push(event);
      start = end + 1;
    }
    this.#rest = start === 0 ? bytes : bytes.subarray(start);
    if (this.#rest.length + this.#size > MAX_EVENT_BYTES)
      throw new EventTooLargeError('engine sent an event over 4 MiB');
    return events;
  }

  /** An empty line ends the event, which is none if it has no data; of the other lines only data lines count. */
  #takeLine(line: Buffer): Buffer | undefined {
    if (line.length === 0) {
      const data = this.#data;
      this.#data = [];
      if (this.#size === 0) return undefined;
      this.#size = 0;
      return data.length === 1
        ? data[0]
        : Buffer.concat(data.flatMap((part, index) => (index === 0 ? [part] : [Buffer.from('\n'), part])));
    }
    if (line.length > DATA.length && line[DATA.length] === COLON && line.subarray(0, DATA.length).equals(DATA)) {
      const value = line.subarray(line[DATA.length + 1] === SPACE ? DATA.length + 2 : DATA.length + 1);
      this.#data.push(value);
      this.#size += value.length;
    }
    return undefined;
  }
}
