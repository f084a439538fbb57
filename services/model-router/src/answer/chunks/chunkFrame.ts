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
/** By byte, whether it may stand behind a backslash and is read in one way alone; no part of a character that is written as `\\u`. */
const SHORT_ESCAPES = new Uint8Array(256);
for (const byte of Buffer.from('"\\bfnrt')) SHORT_ESCAPES[byte] = 1;

/** How an engine writes a new value that is one text and nothing else, by the key it stands under. */
const PLAIN_FORMS: Record<'delta' | 'text', readonly { field: PlainField; start: string; end: string }[]> = {
  delta: [
    { field: 'content', start: '{"content":"', end: '"}' },
    { field: 'reasoning', start: '{"reasoning":"', end: '"}' },
    { field: 'reasoning', start: '{"reasoning_content":"', end: '"}' },
  ],
  text: [{ field: 'text', start: '"', end: '"' }],
};

/**
 * The bytes around the text that the chunks of a stream share, as the engine writes them and as the client gets them. It is
 * learned from a chunk that was parsed; later chunks of plain text within the same bytes are edited by copying. The bytes
 * `,"usage":{` cannot stand inside a JSON string, where quotes are escaped, so the running usage is found without parsing.
 */
export class ChunkFrame {
  readonly #head: Buffer;
  readonly #tail: Buffer;
  /** The client's whole event around the text, which stands once in each gap. */
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
   * Learns the frame from a chunk with a plain value under `valueKey`, whose event the encoder has just written. Undefined where the
   * chunk's bytes, or the events, are not of one form.
   */
  static learn(
    data: Buffer,
    { valueKey, encoder, identity }: { valueKey: 'delta' | 'text'; encoder: StreamEncoder; identity: AnswerIdentity },
  ): ChunkFrame | undefined {
    const { body } = cutUsage(data);
    const mark = `"${valueKey}":`;
    // Unescaped quotes stand around keys alone, so this is the key and no part of a text.
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

  /** The client's event for a chunk of this frame, and the running usage it had. Undefined where the chunk has to be parsed. */
  edit(data: Buffer): { event: Buffer; usage: Buffer | undefined } | undefined {
    const { start, end } = findUsage(data);
    // Most engines write it behind the text: then nothing is copied to leave it out.
    if (start < this.#head.length) return this.#editCut(data);
    const event = this.#toEvent(data, start, end);
    return event && { event, usage: start === end ? undefined : data.subarray(start + USAGE_MARK.length - 1, end) };
  }

  #editCut(data: Buffer): { event: Buffer; usage: Buffer | undefined } | undefined {
    const { body, usage } = cutUsage(data);
    const event = this.#toEvent(body, body.length, body.length);
    return event && { event, usage };
  }

  /** Writes the client's event for a chunk in which `from` to `to` does not count. */
  #toEvent(data: Buffer, from: number, to: number): Buffer | undefined {
    const textStart = this.#head.length;
    const textEnd = data.length - (to - from) - this.#tail.length;
    if (textEnd < textStart || textEnd > from || !stands(this.#head, data, 0)) return undefined;
    const isTail = stands(this.#tail, data, textEnd, 0, from - textEnd) && stands(this.#tail, data, to, from - textEnd);
    if (!isTail || !isPlain(data, textStart, textEnd)) return undefined;
    const textBytes = textEnd - textStart;
    // Beginnings are ASCII: a name and a number.
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

/** Copies in memory of their own: a few bytes of a chunk, or of Node's pool, would keep 8 KiB of it for as long as the stream lasts. */
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

/** Whether the bytes of `part`, all or some, stand in `data` at a place. Faster than to have them compared by Node, as they are few. */
function stands(part: Buffer, data: Buffer, at: number, start = 0, end = part.length): boolean {
  for (let index = start; index < end; index += 1) if (data[at + index - start] !== part[index]) return false;
  return true;
}

/** Whether bytes are a plain text that a parser could not read otherwise. */
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

/** Where the `usage` member of a chunk stands with the comma before it; nowhere, at its end, if it has none. */
function findUsage(data: Buffer): { start: number; end: number } {
  const start = data.lastIndexOf(USAGE_MARK);
  const end = start === -1 ? -1 : endOfValue(data, start + USAGE_MARK.length - 1);
  return end === -1 ? { start: data.length, end: data.length } : { start, end };
}

/** A chunk without its `usage` member, and that member's value, when there is one. */
function cutUsage(data: Buffer): { body: Buffer; usage: Buffer | undefined } {
  const { start, end } = findUsage(data);
  if (start === end) return { body: data, usage: undefined };
  const body = Buffer.concat([data.subarray(0, start), data.subarray(end)]);
  return { body, usage: data.subarray(start + USAGE_MARK.length - 1, end) };
}

/** One past the text, list or object that opens at `start`, or -1 if it does not close. */
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
