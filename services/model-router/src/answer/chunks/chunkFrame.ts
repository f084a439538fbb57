import { isUtf8 } from 'node:buffer';
import type { AnswerIdentity } from '../fields/answerFields.ts';
import type { PlainField, PlainFrame, StreamEncoder } from './streamEncoder.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const LAST_ASCII = 0x7f;
const USAGE_MARK = Buffer.from(',"usage":{');
const NOTHING = Buffer.alloc(0);
/**
 * Is 1 at bytes that form a copyable escape with a backslash. `u` is 0, because its escape may write half a character.
 */
const SHORT_ESCAPES = new Uint8Array(256);
for (const byte of Buffer.from('"\\bfnrt')) SHORT_ESCAPES[byte] = 1;

/** The forms in which engines write a value that is one text and nothing else, by the key of the value. */
const PLAIN_FORMS: Record<'delta' | 'text', readonly { field: PlainField; start: string; end: string }[]> = {
  delta: [
    { field: 'content', start: '{"content":"', end: '"}' },
    { field: 'reasoning', start: '{"reasoning":"', end: '"}' },
    { field: 'reasoning', start: '{"reasoning_content":"', end: '"}' },
  ],
  text: [{ field: 'text', start: '"', end: '"' }],
};

/**
 * The bytes around the text that all chunks of a stream share, as the engine writes them and as the client gets them.
 * They are learned from one parsed chunk. Later chunks of plain text within the same bytes are edited by copying. A
 * JSON string cannot contain the bytes `,"usage":{`, because quotes are escaped there. So the running usage is found
 * without parsing.
 */
export class ChunkFrame {
  readonly #head: Buffer;
  readonly #tail: Buffer;
  /** The client's event around the text, which goes once into each gap between the parts. */
  readonly #clientParts: readonly Buffer[];
  readonly #begin: PlainFrame['begin'];
  #clientBytes = 0;

  private constructor(engine: { head: Buffer; tail: Buffer }, { parts, begin }: PlainFrame) {
    this.#begin = begin;
    const pieces = [engine.head, engine.tail];
    for (const part of parts) pieces.push(Buffer.from(part));
    const [head = NOTHING, tail = NOTHING, ...kept] = copyTogether(pieces);
    this.#head = head;
    this.#tail = tail;
    this.#clientParts = kept;
    for (const { length } of kept) this.#clientBytes += length;
  }

  /**
   * Learns the frame from a chunk with a plain value under `valueKey`, after the encoder wrote the event for the chunk.
   * Returns undefined if the bytes of the chunk or of the events have another form.
   */
  static learn(
    data: Buffer,
    { valueKey, encoder, identity }: { valueKey: 'delta' | 'text'; encoder: StreamEncoder; identity: AnswerIdentity },
  ): ChunkFrame | undefined {
    const { body } = cutUsage(data);
    const mark = `"${valueKey}":`;
    // The opening quote is unescaped, so this is a key and no part of a text.
    const start = body.indexOf(mark) + mark.length;
    const end = endOfValue(body, start);
    if (start < mark.length || end === -1) return undefined;
    for (const form of PLAIN_FORMS[valueKey]) {
      const textStart = start + form.start.length;
      const textEnd = end - form.end.length;
      if (textEnd < textStart || body.toString('latin1', start, textStart) !== form.start) continue;
      if (body.toString('latin1', textEnd, end) !== form.end) continue;
      const frame = encoder.framePlain(identity, form.field);
      return frame && new ChunkFrame({ head: body.subarray(0, textStart), tail: body.subarray(textEnd) }, frame);
    }
    return undefined;
  }

  /**
   * Returns the client's event for a chunk of this frame, and the chunk's usage. Returns undefined if the chunk has to
   * be parsed.
   */
  edit(data: Buffer): { event: Buffer; usage: Buffer | undefined } | undefined {
    const { start, end } = findUsage(data);
    // Most engines write the usage after the text. Then nothing is copied to drop it.
    if (start < this.#head.length) return this.#editCut(data);
    const event = this.#toEvent(data, start, end);
    return event && { event, usage: start === end ? undefined : data.subarray(start + USAGE_MARK.length - 1, end) };
  }

  #editCut(data: Buffer): { event: Buffer; usage: Buffer | undefined } | undefined {
    const { body, usage } = cutUsage(data);
    const event = this.#toEvent(body, body.length, body.length);
    return event && { event, usage };
  }

  /**
   * Returns the client's event for a chunk without its bytes `from` to `to`. Returns undefined if the chunk has to be
   * parsed.
   */
  #toEvent(data: Buffer, from: number, to: number): Buffer | undefined {
    const textStart = this.#head.length;
    const textEnd = data.length - (to - from) - this.#tail.length;
    if (textEnd < textStart || textEnd > from || !stands(this.#head, data, 0)) return undefined;
    const isTail = stands(this.#tail, data, textEnd, 0, from - textEnd) && stands(this.#tail, data, to, from - textEnd);
    if (!isTail || !isPlain(data, textStart, textEnd)) return undefined;
    const textBytes = textEnd - textStart;
    // A beginning is ASCII: the name and number of the event.
    const beginning = this.#begin?.(data.subarray(textStart, textEnd)) ?? '';
    const event = Buffer.allocUnsafe(beginning.length + this.#clientBytes + (this.#clientParts.length - 1) * textBytes);
    let position = beginning === '' ? 0 : event.write(beginning, 'latin1');
    for (const [index, part] of this.#clientParts.entries()) {
      if (index > 0) position += data.copy(event, position, textStart, textEnd);
      position += part.copy(event, position);
    }
    return event;
  }
}

/**
 * Copies pieces into memory of their own. A slice would keep 8 KiB of a chunk or of Node's pool until the stream ends.
 */
function copyTogether(pieces: readonly Buffer[]): Buffer[] {
  let size = 0;
  for (const { length } of pieces) size += length;
  const all = Buffer.allocUnsafeSlow(size);
  const copies: Buffer[] = [];
  let end = 0;
  for (const piece of pieces) {
    const start = end;
    end += piece.copy(all, start);
    copies.push(all.subarray(start, end));
  }
  return copies;
}

/**
 * Returns whether `data` has the given bytes of `part` at a position. A loop is faster than Node's comparison for so
 * few bytes.
 */
function stands(part: Buffer, data: Buffer, at: number, start = 0, end = part.length): boolean {
  for (let index = start; index < end; index += 1) if (data[at + index - start] !== part[index]) return false;
  return true;
}

/** Returns whether bytes are a plain text that every JSON parser reads in the same way. */
function isPlain(data: Buffer, start: number, end: number): boolean {
  let bits = 0;
  for (let position = start; position < end; position += 1) {
    const byte = data[position] ?? 0;
    if (byte === QUOTE || byte < SPACE) return false;
    if (byte === BACKSLASH) {
      position += 1;
      if (position === end || SHORT_ESCAPES[data[position] ?? 0] !== 1) return false;
    }
    bits |= byte;
  }
  return bits <= LAST_ASCII || isUtf8(data.subarray(start, end));
}

/**
 * Finds the `usage` member of a chunk, with the comma before it. Returns an empty range at the end if the chunk has
 * none.
 */
function findUsage(data: Buffer): { start: number; end: number } {
  const start = data.lastIndexOf(USAGE_MARK);
  const end = start === -1 ? -1 : endOfValue(data, start + USAGE_MARK.length - 1);
  return end === -1 ? { start: data.length, end: data.length } : { start, end };
}

/** Splits a chunk into the bytes without its `usage` member and the value of that member, if any. */
function cutUsage(data: Buffer): { body: Buffer; usage: Buffer | undefined } {
  const { start, end } = findUsage(data);
  if (start === end) return { body: data, usage: undefined };
  const body = Buffer.concat([data.subarray(0, start), data.subarray(end)]);
  return { body, usage: data.subarray(start + USAGE_MARK.length - 1, end) };
}

/** Returns the position after the text, list or object that opens at `start`, or -1 if the value does not close. */
function endOfValue(bytes: Buffer, start: number): number {
  let depth = 0;
  let isInString = false;
  for (let position = start; position < bytes.length; position += 1) {
    const byte = bytes[position];
    if (isInString) {
      if (byte === BACKSLASH) position += 1;
      else if (byte === QUOTE) {
        isInString = false;
        if (depth === 0) return position + 1;
      }
    } else if (byte === QUOTE) isInString = true;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth -= 1;
      if (depth === 0) return position + 1;
    }
  }
  return -1;
}
