import { isUtf8 } from 'node:buffer';
import { isObject, parseJson } from './engineJson.ts';
import { type EngineUsage, readEngineUsage, toUsageBody } from './engineUsage.ts';
import { toShownFinishReason } from './toShownFinishReason.ts';

/** What one event of the engine means for the client. */
export type EditedEvent =
  /** `bytes` is a whole event, ready to be sent. */
  | { kind: 'chunk'; bytes: Buffer; hasToolCall: boolean }
  | { kind: 'nothing' }
  | { kind: 'done' }
  | { kind: 'error'; status: number; message: string }
  /** The engine sent something that is no chunk. */
  | { kind: 'broken' };

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const DONE = Buffer.from('[DONE]');
const USAGE_MARK = Buffer.from(',"usage":{');
const EVENT_START = 'data: ';
const EVENT_END = '\n\n';

/** How the chunks of an operation are built: what they are called, and what of a choice is new in each. */
interface ChunkShape {
  object: string;
  valueKey: 'delta' | 'text';
  /** The bytes around a plain text, where the new value is nothing else. */
  plainStart: Buffer;
  plainEnd: Buffer;
}

const CHUNK_SHAPES: Record<'chat' | 'completions', ChunkShape> = {
  chat: {
    object: 'chat.completion.chunk',
    valueKey: 'delta',
    plainStart: Buffer.from('{"content":"'),
    plainEnd: Buffer.from('"}'),
  },
  completions: {
    object: 'text_completion',
    valueKey: 'text',
    plainStart: Buffer.from('"'),
    plainEnd: Buffer.from('"'),
  },
};

/** The bytes around a new value that all chunks of a stream share: as the engine writes them, and as the client gets them. */
interface Frame {
  engineHead: Buffer;
  engineTail: Buffer;
  clientHead: Buffer;
  clientTail: Buffer;
}

/**
 * Turns an engine's chunks into the client's: canonical model, running usage out, no vendor fields.
 * The first chunk of plain text is parsed and teaches the frame around its text; every later one whose frame has the same
 * bytes is edited by copying, and anything else is parsed. The bytes `,"usage":{` cannot stand inside a JSON
 * string, where quotes are escaped, so the running usage is found without parsing.
 */
export class ChunkEditor {
  readonly #shape: ChunkShape;
  readonly #canonicalModel: string;
  readonly #includeUsage: boolean;
  readonly #isCacheCapable: boolean;
  #frame: Frame | undefined;
  #latestUsage: Buffer | EngineUsage | undefined;
  #finishReason: string | undefined;
  #hasFinalUsage = false;

  constructor(options: {
    operation: 'chat' | 'completions';
    canonicalModel: string;
    includeUsage: boolean;
    isCacheCapable: boolean;
  }) {
    this.#shape = CHUNK_SHAPES[options.operation];
    this.#canonicalModel = options.canonicalModel;
    this.#includeUsage = options.includeUsage;
    this.#isCacheCapable = options.isCacheCapable;
  }

  /** The engine's latest running count; undefined until it gave one. */
  get usage(): EngineUsage | undefined {
    if (Buffer.isBuffer(this.#latestUsage)) this.#latestUsage = readEngineUsage(parseJson(this.#latestUsage));
    return this.#latestUsage;
  }

  /** The engine's count for the whole answer; undefined if it never gave one after the answer was complete. */
  get finalUsage(): EngineUsage | undefined {
    return this.#hasFinalUsage ? this.usage : undefined;
  }

  get finishReason(): string | undefined {
    return this.#finishReason;
  }

  edit(data: Buffer): EditedEvent {
    if (data.subarray(0, DONE.length).equals(DONE)) return { kind: 'done' };
    return this.#editByFrame(data) ?? this.#editByParsing(data);
  }

  #editByFrame(data: Buffer): EditedEvent | undefined {
    const frame = this.#frame;
    if (!frame) return undefined;
    const { engineHead, engineTail, clientHead, clientTail } = frame;
    const { body, usage } = cutUsage(data);
    const end = body.length - engineTail.length;
    if (end < engineHead.length) return undefined;
    if (!body.subarray(0, engineHead.length).equals(engineHead) || !body.subarray(end).equals(engineTail))
      return undefined;
    const value = body.subarray(engineHead.length, end);
    if (!isPlainText(value, this.#shape)) return undefined;
    if (usage) this.#latestUsage = usage;
    return { kind: 'chunk', bytes: Buffer.concat([clientHead, value, clientTail]), hasToolCall: false };
  }

  #editByParsing(data: Buffer): EditedEvent {
    const chunk = parseJson(data);
    if (!isObject(chunk)) return { kind: 'broken' };
    if (isObject(chunk.error)) {
      const { message, code } = chunk.error;
      return {
        kind: 'error',
        status: typeof code === 'number' ? code : 500,
        message: typeof message === 'string' ? message : '',
      };
    }
    const usage = readEngineUsage(chunk.usage);
    if (usage) this.#latestUsage = usage;
    else if (isObject(chunk.usage)) return { kind: 'broken' };
    if (!Array.isArray(chunk.choices)) return { kind: 'broken' };
    const [choice] = chunk.choices as unknown[];
    if (choice === undefined) return this.#toUsageChunk(chunk, usage);
    if (!isObject(choice)) return { kind: 'broken' };
    const value = choice[this.#shape.valueKey];
    if (this.#shape.valueKey === 'delta' ? !isObject(value) : typeof value !== 'string') return { kind: 'broken' };

    const finishReason = choice.finish_reason ?? null;
    if (finishReason !== null && typeof finishReason !== 'string') return { kind: 'broken' };
    if (finishReason === 'abort' || finishReason === 'error') return { kind: 'error', status: 500, message: '' };
    const shown = finishReason === null ? null : toShownFinishReason(finishReason);
    if (shown !== null) {
      this.#finishReason = shown;
      this.#hasFinalUsage = usage !== undefined;
    }
    const rest = { logprobs: null, finish_reason: shown };
    const text = this.#render(chunk, [{ index: 0, [this.#shape.valueKey]: value, ...rest }]);
    if (shown === null && isText(value)) this.#learnFrame(data, text, value);
    const hasToolCall = isObject(value) && Array.isArray(value.tool_calls) && value.tool_calls.length > 0;
    return { kind: 'chunk', bytes: Buffer.from(text), hasToolCall };
  }

  #toUsageChunk(chunk: Record<string, unknown>, usage: EngineUsage | undefined): EditedEvent {
    if (!usage) return { kind: 'nothing' };
    this.#hasFinalUsage = true;
    if (!this.#includeUsage) return { kind: 'nothing' };
    return {
      kind: 'chunk',
      bytes: Buffer.from(this.#render(chunk, [], toUsageBody(usage, { isCacheCapable: this.#isCacheCapable }))),
      hasToolCall: false,
    };
  }

  /** A client's event: the convention's keys and no others, so nothing an engine adds can leak. */
  #render(chunk: Record<string, unknown>, choices: object[], usage: object | null = null): string {
    const { id, created } = chunk;
    const body = {
      id,
      object: this.#shape.object,
      created,
      model: this.#canonicalModel,
      choices,
      // Whoever asked for usage sees the key on every chunk, as the convention has it.
      ...(this.#includeUsage && { usage }),
    };
    return `${EVENT_START}${JSON.stringify(body)}${EVENT_END}`;
  }

  #learnFrame(data: Buffer, text: string, value: unknown): void {
    const { body } = cutUsage(data);
    const mark = `"${this.#shape.valueKey}":`;
    const start = body.indexOf(mark) + mark.length;
    const end = endOfValue(body, start);
    const clientStart = text.indexOf(mark) + mark.length;
    const clientEnd = clientStart + JSON.stringify(value).length;
    if (start < mark.length || end === -1) return;
    this.#frame = {
      engineHead: Buffer.from(body.subarray(0, start)),
      engineTail: Buffer.from(body.subarray(end)),
      clientHead: Buffer.from(text.slice(0, clientStart)),
      clientTail: Buffer.from(text.slice(clientEnd)),
    };
  }
}

/** Whether a new value is text and nothing else: what frames are learned from. */
const isText = (value: unknown): boolean =>
  typeof value === 'string' ||
  (isObject(value) && Object.keys(value).length === 1 && typeof value.content === 'string');

/** Whether a value is the bytes of a text, as `{"content":"…"}` or `"…"`, that a parser could not read otherwise. */
function isPlainText(value: Buffer, { plainStart, plainEnd }: ChunkShape): boolean {
  const end = value.length - plainEnd.length;
  if (end < plainStart.length || !value.subarray(0, plainStart.length).equals(plainStart)) return false;
  if (!value.subarray(end).equals(plainEnd)) return false;
  for (let position = plainStart.length; position < end; position += 1) {
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
