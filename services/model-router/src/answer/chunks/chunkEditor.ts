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
import type { AnswerTerms, EncoderTerms, PlainField, StreamEncoder } from './streamEncoder.ts';

/** What one event of the engine means for the client. */
export type EditedEvent =
  /** `bytes` is a whole event, ready to be sent. */
  | { kind: 'chunk'; bytes: Buffer }
  | { kind: 'nothing' }
  | { kind: 'done' }
  | { kind: 'error'; status: number; message: string; param: string | null }
  /** The engine sent something that is no chunk. */
  | { kind: 'broken' }
  /** The engine answers another call. */
  | { kind: 'foreign' }
  /** The model's tool calls cannot be shown: there are too many, or arguments without a name. */
  | { kind: 'unshowable' }
  /** More text came than is withheld for a tool that has to be called. */
  | { kind: 'no_tool_called' };

const DONE = Buffer.from('[DONE]');
const NO_ROOM = Buffer.alloc(0);
/** Its counts get a digit more now and then. */
const USAGE_GROWS_BY = 8;
const OPEN_BRACKET = 0x5b;
const NOTHING: EditedEvent = { kind: 'nothing' };
const BROKEN: EditedEvent = { kind: 'broken' };
const FOREIGN: EditedEvent = { kind: 'foreign' };
const UNSHOWABLE: EditedEvent = { kind: 'unshowable' };
const NO_TOOL_CALLED: EditedEvent = { kind: 'no_tool_called' };
const ABORTED: EditedEvent = { kind: 'error', status: 500, message: '', param: null };

/** Edits the values of one stream, which are what is new in each chunk. */
export interface ValueEditor<Value = unknown> {
  /** The client's value; undefined where the engine's is none. */
  edit(value: unknown): Value | undefined;
  /** Whether any tool call has been shown. */
  readonly hasToolCall: boolean;
  /** Whether a tool call has no name yet, or tool calls are longer or more than an answer may have. */
  readonly hasUnshowableCall: boolean;
}

/** How the values of an operation's chunks are read, and what writes them for the client. */
export interface ChunkShape<Value = unknown> {
  /** The event that fills a silence; undefined where a comment line does. */
  keepAlive?: Buffer;
  /** Begins an id that the engine left out. */
  idPrefix: string;
  /** The key under which stands what is new in each of the engine's chunks. */
  valueKey: 'delta' | 'text';
  /** A value that tells nothing. */
  emptyValue: Value;
  createValueEditor(): ValueEditor<Value>;
  /** Makes what writes the events of one call. */
  createEncoder(terms: EncoderTerms): StreamEncoder<Value>;
}

export interface ChunkEditorOptions extends Pick<AnswerTerms, 'callId'> {
  engine: IdHabit;
  shape: ChunkShape;
  encoder: StreamEncoder;
  /** Whether text is withheld until a tool is called. */
  isToolForced: boolean;
}

/**
 * Turns an engine's chunks into the client's events. What is new in a chunk is picked from a list of keys, and an encoder writes it:
 * nothing else an engine writes can leak. The first chunk gives `id` and `created` to all; the model is the canonical id. The finish
 * reason comes once, behind all else (`lastEvents`), because some engines send more text behind a reason.
 *
 * Plain text is edited by copying (`ChunkFrame`), anything else is parsed.
 */
export class ChunkEditor {
  readonly #options: ChunkEditorOptions;
  readonly #values: ValueEditor;
  #withheld: WithheldText | undefined;
  #identity: AnswerIdentity | undefined;
  #frame: ChunkFrame | undefined;
  #latestUsage: Buffer | ShownUsage | undefined;
  /** Where the bytes of the latest usage lie. */
  #usageRoom = NO_ROOM;
  /** The engine's latest. */
  #finishReason: string | undefined;
  #stopText: string | undefined;
  #hasFinalUsage = false;

  constructor(options: ChunkEditorOptions) {
    this.#options = options;
    this.#values = options.shape.createValueEditor();
    this.#withheld = options.isToolForced ? new WithheldText() : undefined;
  }

  /** The engine's latest running count; undefined until it gave one. */
  get usage(): ShownUsage | undefined {
    if (Buffer.isBuffer(this.#latestUsage)) this.#latestUsage = readEngineUsage(parseEngineJson(this.#latestUsage));
    return this.#latestUsage;
  }

  /** The engine's count for the whole answer; undefined if it never gave one after the answer was complete. */
  get finalUsage(): EngineUsage | undefined {
    return this.#hasFinalUsage ? this.usage : undefined;
  }

  /** Whether the engine gave a reason for the end. */
  get isFinished(): boolean {
    return this.#finishReason !== undefined;
  }

  /** Whether a tool call still has no name. */
  get hasUnshowableCall(): boolean {
    return this.#values.hasUnshowableCall;
  }

  /** Whether text waits for a tool call that has not come. */
  get isWithholding(): boolean {
    return this.#withheld !== undefined;
  }

  /** The last events of a finished stream: why it ended, and the usage of the whole. */
  get lastEvents(): Buffer {
    const finishReason = toShownFinishReason(this.#finishReason ?? '', this.#values);
    const usage = this.#hasFinalUsage ? this.usage : undefined;
    const stopText = this.#stopText;
    return Buffer.from(this.#options.encoder.finish(this.#named, { finishReason, stopText, usage }));
  }

  edit(data: Buffer): EditedEvent {
    if (data[0] === OPEN_BRACKET && data.subarray(0, DONE.length).equals(DONE)) return { kind: 'done' };
    const edited = this.#finishReason === undefined ? this.#frame?.edit(data) : undefined;
    if (!edited) return this.#editByParsing(data);
    if (edited.usage) this.#keepUsage(edited.usage);
    return { kind: 'chunk', bytes: edited.event };
  }

  /** A piece of a chunk would keep all that was read with it until the next one comes. */
  #keepUsage(usage: Buffer): void {
    if (this.#usageRoom.length < usage.length) this.#usageRoom = Buffer.allocUnsafeSlow(usage.length + USAGE_GROWS_BY);
    usage.copy(this.#usageRoom);
    this.#latestUsage = this.#usageRoom.subarray(0, usage.length);
  }

  #editByParsing(data: Buffer): EditedEvent {
    const chunk = parseEngineJson(data);
    if (!isObject(chunk)) return BROKEN;
    if (isObject(chunk.error)) {
      const { message, param } = chunk.error;
      return {
        kind: 'error',
        status: statusOf(chunk.error),
        message: typeof message === 'string' ? message : '',
        param: typeof param === 'string' ? param : null,
      };
    }
    if (isOfAnotherCall(chunk, this.#options)) return FOREIGN;
    const usage = readEngineUsage(chunk.usage);
    if (usage) this.#latestUsage = usage;
    else if (isObject(chunk.usage) && Object.keys(chunk.usage).length > 0) return BROKEN;
    if (!Array.isArray(chunk.choices)) return BROKEN;
    const [choice] = chunk.choices as unknown[];
    if (choice !== undefined && !isObject(choice)) return BROKEN;
    if (choice) this.#identity ??= readIdentity(chunk, this.#options.shape.idPrefix);
    const edited = choice ? this.#editChoice(data, choice) : NOTHING;
    if (usage && this.#finishReason !== undefined) this.#hasFinalUsage = true;
    return edited;
  }

  #editChoice(data: Buffer, choice: Record<string, unknown>): EditedEvent {
    const { valueKey, emptyValue } = this.#options.shape;
    const reason = readFinishReason(choice);
    if (reason === undefined) return BROKEN;
    if (isBrokenOff(reason)) return ABORTED;
    const given = choice[valueKey] === null ? emptyValue : choice[valueKey];
    const value = this.#values.edit(given);
    if (value === undefined) return this.#values.hasUnshowableCall ? UNSHOWABLE : BROKEN;
    const isSilent = saysNothing(value);
    // What is said now is not in the counts before it.
    if (!isSilent) this.#hasFinalUsage = false;
    if (reason !== null) this.#finishReason = reason;
    if (reason !== null) this.#stopText = readStopText(choice);
    this.#frame = undefined;
    if (this.#finishReason === undefined ? isEmpty(value) : isSilent) return NOTHING;
    if (this.#withheld && !this.#values.hasToolCall) {
      this.#withheld.hold(value as TextDelta);
      return this.#withheld.isFull ? NO_TOOL_CALLED : NOTHING;
    }
    const before = this.#withheld?.released;
    this.#withheld = undefined;
    const bytes = Buffer.from(`${before ? this.#write(before) : ''}${this.#write(value)}`);
    if (reason === null && isPlain(given)) this.#learnFrame(data);
    return { kind: 'chunk', bytes };
  }

  /** The identity that the first chunk gave; made up where none came. */
  get #named(): AnswerIdentity {
    this.#identity ??= readIdentity({}, this.#options.shape.idPrefix);
    return this.#identity;
  }

  #write(value: unknown): string {
    return this.#options.encoder.write(this.#named, value, this.usage);
  }

  #learnFrame(data: Buffer): void {
    const { shape, encoder } = this.#options;
    const framePlain = (field: PlainField) => encoder.framePlain(this.#named, field);
    this.#frame = ChunkFrame.learn(data, { valueKey: shape.valueKey, framePlain });
  }
}

/** Text withheld at most. It is more than any model says in one answer. */
const MAX_WITHHELD_LENGTH = 1_048_576;

type TextDelta = Record<string, string | null>;

/**
 * Text that an engine wrote before the call of a tool that it has to call. It is withheld, so that an answer without a call can still be a
 * refusal. Deltas are put together to one, as they reach the client at once. A model may think for thousands of
 * tokens first: each delta of its own would take as much memory as fifty in one.
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
const saysNothing = (value: unknown): boolean =>
  value === '' || (isObject(value) && Object.values(value).every((field) => field === '' || field === null));

/** A delta without anything for the client: an engine's sign of life, or a part of a call that tells nothing new. */
const isEmpty = (value: unknown): boolean => isObject(value) && Object.keys(value).length === 0;
