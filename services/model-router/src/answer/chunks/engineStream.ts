import type { EngineFault } from '../../api/inferenceFault.ts';
import type { EngineErrorKind } from '../../engines/terms/attemptResult.ts';
import { parseEngineJson } from '../../engines/terms/engineJson.ts';
import type { EngineUsage } from '../../money/call/openCalls.ts';
import {
  type AnswerIdentity,
  type IdHabit,
  isBrokenOff,
  isObject,
  isOfAnotherCall,
  readEngineUsage,
  readFinishReason,
  readIdentity,
  readStopText,
  type ShownUsage,
  statusOf,
  toShownFinishReason,
} from '../fields/answerFields.ts';
import { ChunkFrame } from './chunkFrame.ts';
import type { AnswerTerms, ChunkShape, StreamEncoder, ValueEditor } from './streamEncoder.ts';

/** The end of a stream, by the last event of its engine. */
export type StreamEnd =
  /** `usage` is the engine's count for all of it, if it gave one; `lastEvents` are what its client has yet to get. */
  | { kind: 'whole'; usage: EngineUsage | undefined; lastEvents: Buffer }
  /** `broken` where it is a sign that the engine may be unwell. */
  | { kind: 'failed'; fault: EngineFault; reason: string; broken?: EngineErrorKind }
  /** The model's tool calls cannot be shown: there are too many, or arguments without a name. What came before them was sound. */
  | { kind: 'unshowable' };

/** Events for the client from some of an engine's bytes and, after them, perhaps the end. */
export interface StreamStep {
  events: Buffer[];
  end: StreamEnd | undefined;
}

export interface EngineStreamOptions extends Pick<AnswerTerms, 'callId'> {
  engine: IdHabit;
  shape: ChunkShape;
  encoder: StreamEncoder;
  /** Whether text is withheld until a tool is called. */
  isToolForced: boolean;
  /** Returns the meaning of an error event for the client. */
  toFault: (status: number, body: Buffer) => EngineFault;
}

type Failure = Extract<StreamEnd, { kind: 'failed' }>;
const failed = (fault: EngineFault, reason: string): Failure => ({ kind: 'failed', fault, reason });
const ENGINE_FAILED: EngineFault = { kind: 'engine_failed' };
const NONSENSE = failed(ENGINE_FAILED, 'engine_sent_nonsense');
const ANOTHER_CALL = failed(ENGINE_FAILED, 'engine_answered_another_call');
const UNFINISHED = failed(ENGINE_FAILED, 'engine_did_not_finish');
/** The engine's stream ended, or more text came than is withheld, without a tool that has to be called. */
const NO_TOOL_CALLED = failed({ kind: 'forced_tool_not_called' }, 'forced_tool_not_called');
const UNSHOWABLE: StreamEnd = { kind: 'unshowable' };

const DONE = Buffer.from('[DONE]');
const NO_ROOM = Buffer.alloc(0);
/** Spare bytes for the usage, because its counts gain a digit now and then. */
const USAGE_GROWS_BY = 8;
const OPEN_BRACKET = 0x5b;

/**
 * Reads an engine's stream, in reads of any size, into events for the client. The stream ends once. It is complete only
 * if the engine finished, gave a reason, and kept to a forced tool choice. Nothing after the end is read.
 *
 * New text and calls of a chunk are picked from a list of keys, and an encoder writes them. Nothing else of an engine
 * can leak. The first chunk gives `id` and `created` to all; the model is the canonical id. The finish reason is sent
 * once, after everything else (`lastEvents`), because some engines send more text after a reason.
 *
 * Plain text is edited by copying (`ChunkFrame`), anything else is parsed.
 */
export class EngineStream {
  /** Whether any event has come from the engine, even one without meaning. Changed here alone. */
  hasBegun = false;
  readonly #options: EngineStreamOptions;
  readonly #parser = new SseParser();
  readonly #values: ValueEditor;
  #withheld: WithheldText | undefined;
  #identity: AnswerIdentity | undefined;
  #frame: ChunkFrame | undefined;
  #latestUsage: Buffer | ShownUsage | undefined;
  /** The place of the latest usage in its bytes. */
  #usageRoom = NO_ROOM;
  /** The engine's last finish reason. */
  #finishReason: string | undefined;
  #stopText: string | undefined;
  #hasFinalUsage = false;

  constructor(options: EngineStreamOptions) {
    this.#options = options;
    this.#values = options.shape.createValueEditor();
    this.#withheld = options.isToolForced ? new WithheldText() : undefined;
  }

  /** The engine's latest running count; undefined until it gave one. */
  get usage(): ShownUsage | undefined {
    if (Buffer.isBuffer(this.#latestUsage)) this.#latestUsage = readEngineUsage(parseEngineJson(this.#latestUsage));
    return this.#latestUsage;
  }

  /** Undefined where the bytes complete no event, not even one without meaning. */
  push(bytes: Buffer): StreamStep | undefined {
    const parsed = this.#parser.push(bytes);
    if (parsed === 'too_large')
      return { events: [], end: { ...failed(ENGINE_FAILED, 'engine_event_too_large'), broken: 'reset' } };
    if (parsed.length === 0) return undefined;
    this.hasBegun = true;
    const events: Buffer[] = [];
    for (const data of parsed) {
      const edited = this.edit(data);
      if (Buffer.isBuffer(edited)) events.push(edited);
      else if (edited) return { events, end: edited };
    }
    return { events, end: undefined };
  }

  /** Returns whole events for the data of one event of the engine, or the end of the stream. Undefined where the client gets nothing of it. */
  edit(data: Buffer): Buffer | StreamEnd | undefined {
    if (data[0] === OPEN_BRACKET && data.subarray(0, DONE.length).equals(DONE)) return this.#toEnd();
    const copied = this.#finishReason === undefined ? this.#frame?.edit(data) : undefined;
    if (!copied) return this.#editByParsing(data);
    const { event, usage } = copied;
    if (usage) {
      // A piece of a chunk would keep all that was read with it until the next one comes.
      if (this.#usageRoom.length < usage.length)
        this.#usageRoom = Buffer.allocUnsafeSlow(usage.length + USAGE_GROWS_BY);
      usage.copy(this.#usageRoom);
      this.#latestUsage = this.#usageRoom.subarray(0, usage.length);
    }
    return event;
  }

  #editByParsing(data: Buffer): Buffer | StreamEnd | undefined {
    const chunk = parseEngineJson(data);
    if (!isObject(chunk)) return NONSENSE;
    if (isObject(chunk.error)) return this.#toError(statusOf(chunk.error), chunk.error);
    if (isOfAnotherCall(chunk, this.#options)) return ANOTHER_CALL;
    const usage = readEngineUsage(chunk.usage);
    if (usage) this.#latestUsage = usage;
    else if (isObject(chunk.usage) && Object.keys(chunk.usage).length > 0) return NONSENSE;
    if (!Array.isArray(chunk.choices)) return NONSENSE;
    const [choice] = chunk.choices as unknown[];
    if (choice !== undefined && !isObject(choice)) return NONSENSE;
    let edited: Buffer | StreamEnd | undefined;
    if (choice) {
      this.#identity ??= readIdentity(chunk, this.#options.shape.idPrefix);
      edited = this.#editChoice(data, choice, this.#identity);
    }
    if (usage && this.#finishReason !== undefined) this.#hasFinalUsage = true;
    return edited;
  }

  #editChoice(data: Buffer, choice: Record<string, unknown>, identity: AnswerIdentity): Buffer | StreamEnd | undefined {
    const { shape, encoder } = this.#options;
    const { valueKey, emptyValue } = shape;
    const reason = readFinishReason(choice);
    if (reason === undefined) return NONSENSE;
    if (isBrokenOff(reason)) return this.#toError(500, {});
    const given = choice[valueKey] === null ? emptyValue : choice[valueKey];
    const value = this.#values.edit(given);
    if (value === undefined) return this.#values.hasUnshowableCall ? UNSHOWABLE : NONSENSE;
    const isSilent = saysNothing(value);
    // The last counts do not include this text.
    if (!isSilent) this.#hasFinalUsage = false;
    if (reason !== null) this.#finishReason = reason;
    if (reason !== null) this.#stopText = readStopText(choice);
    this.#frame = undefined;
    // A keep-alive of the engine, or a part of a call without new content. Empty texts count only before a reason.
    const isEmpty = isObject(value) && Object.keys(value).length === 0;
    if (isEmpty || (isSilent && this.#finishReason !== undefined)) return undefined;
    if (this.#withheld && !this.#values.hasToolCall) {
      this.#withheld.hold(value as TextDelta);
      return this.#withheld.isFull ? NO_TOOL_CALLED : undefined;
    }
    const { usage } = this;
    const before = this.#withheld?.released;
    this.#withheld = undefined;
    const released = before ? encoder.write(identity, before, usage) : '';
    const event = Buffer.from(`${released}${encoder.write(identity, value, usage)}`);
    if (reason === null && isPlain(given)) this.#frame = ChunkFrame.learn(data, { valueKey, encoder, identity });
    return event;
  }

  #toEnd(): StreamEnd {
    const finishReason = this.#finishReason;
    if (finishReason !== undefined && this.#values.hasUnshowableCall) return UNSHOWABLE;
    if (this.#withheld) return NO_TOOL_CALLED;
    // The chunk with the reason gave an identity.
    if (finishReason === undefined || !this.#identity) return UNFINISHED;
    const usage = this.#hasFinalUsage ? this.usage : undefined;
    const finish = { finishReason: toShownFinishReason(finishReason, this.#values), stopText: this.#stopText, usage };
    return { kind: 'whole', usage, lastEvents: Buffer.from(this.#options.encoder.finish(this.#identity, finish)) };
  }

  #toError(status: number, { message, param }: Record<string, unknown>): StreamEnd {
    const shown = {
      message: typeof message === 'string' ? message : '',
      param: typeof param === 'string' ? param : null,
    };
    return failed(this.#options.toFault(status, Buffer.from(JSON.stringify(shown))), 'engine_error_event');
  }
}

/** Most withheld text, more than a model produces in one answer. */
const MAX_WITHHELD_LENGTH = 1_048_576;

type TextDelta = Record<string, string | null>;

/**
 * Text before a forced tool call. It is withheld, so that an answer without the call can still be refused. Deltas are
 * merged into one, because they reach the client together. A model may reason for thousands of tokens first, and
 * separate deltas take fifty times the memory.
 */
class WithheldText {
  #length = 0;
  /** One delta with all that was withheld, if anything was. Changed here alone. */
  released: TextDelta | undefined;

  /** More was withheld than is kept: the tool will not be called. */
  get isFull(): boolean {
    return this.#length > MAX_WITHHELD_LENGTH;
  }

  /** Holds back a delta of text alone. */
  hold(delta: TextDelta): void {
    const held = this.released ?? {};
    for (const [key, text] of Object.entries(delta)) {
      this.#length += text?.length ?? 0;
      const before = held[key];
      held[key] = typeof before === 'string' ? before + (text ?? '') : text;
    }
    this.released = held;
  }
}

/** Whether a new value is one text and nothing else, as most are: what frames are learned from. */
const isPlain = (value: unknown): boolean =>
  typeof value === 'string' || (isObject(value) && Object.keys(value).length === 1 && !('tool_calls' in value));

/** Whether a value adds no text and no call. */
function saysNothing(value: unknown): boolean {
  if (!isObject(value)) return value === '';
  for (const name in value) if (value[name] !== '' && value[name] !== null) return false;
  return true;
}

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
 * Cuts a byte stream into the data of its server-sent events, with reads of any size. An event may span several reads,
 * and a read several events, with CR LF line ends, comments and several data lines. Bytes are never decoded, so a
 * character split between two reads stays intact. Of an incomplete event only bounded bytes are kept, in memory of
 * their own.
 */
export class SseParser {
  /** The incomplete line, if it may be a data line. */
  readonly #rest = new GrowingBytes();
  /** Bytes so far of an incomplete line that is not a data line. */
  #skipped = 0;
  /** The data of the incomplete event: a line of the current read, or all lines. */
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

  /** Keeps more of an incomplete line. Of comments and other fields only the length is kept. */
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
