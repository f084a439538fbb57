import { isUtf8 } from 'node:buffer';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const USAGE_MARK = Buffer.from(',"usage":{');

/** A new value that is one text and nothing else: the bytes before and after the text. */
interface PlainForm {
  start: Buffer;
  end: Buffer;
  /** What the client gets around the text, which stands once in each gap. */
  clientParts: readonly Buffer[];
}

const toForm = (start: string, end: string, ...clientParts: string[]): PlainForm => ({
  start: Buffer.from(start),
  end: Buffer.from(end),
  clientParts: clientParts.map((part) => Buffer.from(part)),
});
const REASONING_PARTS = ['{"reasoning":"', '","reasoning_content":"', '"}'] as const;

/** The plain values that chunks may have, by the key they stand under. */
const PLAIN_FORMS: Record<'delta' | 'text', readonly PlainForm[]> = {
  delta: [
    toForm('{"content":"', '"}', '{"content":"', '"}'),
    toForm('{"reasoning":"', '"}', ...REASONING_PARTS),
    toForm('{"reasoning_content":"', '"}', ...REASONING_PARTS),
  ],
  text: [toForm('"', '"', '"', '"')],
};

/**
 * The bytes around the new value that the chunks of a stream share, as the engine writes them and as the client gets them.
 * It is learned from a chunk that was parsed; later chunks of plain text within the same bytes are edited by copying. The
 * bytes `,"usage":{` cannot stand inside a JSON string, where quotes are escaped, so the running usage is found without
 * parsing.
 */
export class ChunkFrame {
  /** The plain forms, with the client's whole event around the text. */
  readonly #forms: readonly PlainForm[];
  readonly #engineHead: Buffer;
  readonly #engineTail: Buffer;

  private constructor(
    forms: readonly PlainForm[],
    engine: { head: Buffer; tail: Buffer },
    client: { head: string; tail: string },
  ) {
    this.#forms = forms.map(({ clientParts, ...form }) => ({
      ...form,
      clientParts: clientParts.map((part, index) => {
        const withHead = index === 0 ? [Buffer.from(client.head), part] : [part];
        return Buffer.concat(index === clientParts.length - 1 ? [...withHead, Buffer.from(client.tail)] : withHead);
      }),
    }));
    this.#engineHead = Buffer.from(engine.head);
    this.#engineTail = Buffer.from(engine.tail);
  }

  /**
   * Learns the frame from a chunk with a plain value under `valueKey`. `clientEvent` is the client's event with `emptyValue` in
   * the value's place. Undefined where the chunk's bytes are not of that form.
   */
  static learn(
    data: Buffer,
    { valueKey, emptyValue, clientEvent }: { valueKey: 'delta' | 'text'; emptyValue: unknown; clientEvent: string },
  ) {
    const { body } = cutUsage(data);
    const mark = `"${valueKey}":`;
    const start = body.indexOf(mark) + mark.length;
    const end = endOfValue(body, start);
    // Unescaped quotes stand around keys alone, so this is the key and no part of a text.
    const [head, tail] = clientEvent.split(`${mark}${JSON.stringify(emptyValue)}`);
    if (start < mark.length || end === -1 || head === undefined || tail === undefined) return undefined;
    return new ChunkFrame(
      PLAIN_FORMS[valueKey],
      { head: body.subarray(0, start), tail: body.subarray(end) },
      { head: `${head}${mark}`, tail },
    );
  }

  /** The client's event for a chunk of this frame, and the running usage it had. Undefined where the chunk has to be parsed. */
  edit(data: Buffer): { event: Buffer; usage: Buffer | undefined } | undefined {
    const { body, usage } = cutUsage(data);
    const end = body.length - this.#engineTail.length;
    const start = this.#engineHead.length;
    if (end < start || !startsWith(body, this.#engineHead) || !body.subarray(end).equals(this.#engineTail))
      return undefined;
    const value = body.subarray(start, end);
    for (const form of this.#forms) {
      if (!isPlain(value, form)) continue;
      const text = value.subarray(form.start.length, value.length - form.end.length);
      const event: Buffer[] = [];
      for (const part of form.clientParts) event.push(part, text);
      event.pop();
      return { event: Buffer.concat(event), usage };
    }
    return undefined;
  }
}

const startsWith = (bytes: Buffer, start: Buffer): boolean => bytes.subarray(0, start.length).equals(start);

/** Whether a value is the bytes of a plain text that a parser could not read otherwise. */
function isPlain(value: Buffer, { start, end }: PlainForm): boolean {
  const textEnd = value.length - end.length;
  if (textEnd < start.length || !startsWith(value, start) || !value.subarray(textEnd).equals(end)) return false;
  for (let position = start.length; position < textEnd; position += 1) {
    const byte = value[position] ?? 0;
    if (byte === QUOTE || byte === BACKSLASH || byte < SPACE) return false;
  }
  return isUtf8(value);
}

/** A chunk without its `usage` member, and that member's value, when there is one. */
function cutUsage(data: Buffer): { body: Buffer; usage?: Buffer } {
  const mark = data.lastIndexOf(USAGE_MARK);
  if (mark === -1) return { body: data };
  const start = mark + USAGE_MARK.length - 1;
  const end = endOfValue(data, start);
  if (end === -1) return { body: data };
  const usage = data.subarray(start, end);
  return { body: Buffer.concat([data.subarray(0, mark), data.subarray(end)]), usage };
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
