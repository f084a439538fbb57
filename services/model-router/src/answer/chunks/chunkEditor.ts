import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { ChatChunk } from '@turnpike/public-api/chatAnswer';
import type { FinishReason } from '@turnpike/public-api/generatedAnswer';
import type { TextChunk } from '@turnpike/public-api/textCompletion';
import type { TokenUsage } from '@turnpike/public-api/tokenUsage';
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
  type ShownUsage,
  statusOf,
  toShownFinishReason,
  toUsageBody,
} from '../fields/answerFields.ts';
import { ChunkFrame } from './chunkFrame.ts';

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
  | { kind: 'unshowable' };

const DONE = Buffer.from('[DONE]');
const NO_ROOM = Buffer.alloc(0);
/** Its counts get a digit more now and then. */
const USAGE_GROWS_BY = 8;
const OPEN_BRACKET = 0x5b;
const NOTHING: EditedEvent = { kind: 'nothing' };
const BROKEN: EditedEvent = { kind: 'broken' };
const FOREIGN: EditedEvent = { kind: 'foreign' };
const UNSHOWABLE: EditedEvent = { kind: 'unshowable' };
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

/** What all chunks of a stream have. */
export interface ChunkHead extends AnswerIdentity {
  model: string;
  /** Whoever asked for usage sees the key on every chunk, as the convention has it. */
  usage?: TokenUsage | null;
}

/** How the chunks of an operation look. */
export interface ChunkShape<Value = unknown> {
  /** Begins an id that the engine left out. */
  idPrefix: string;
  /** The key under which stands what is new in each chunk. */
  valueKey: 'delta' | 'text';
  /** A value that tells nothing. */
  emptyValue: Value;
  createValueEditor(): ValueEditor<Value>;
  /** A chunk with one choice, or with none. */
  toChunk(
    head: ChunkHead,
    part: { value: Value; finishReason: FinishReason | null } | undefined,
  ): ChatChunk | TextChunk;
}

export interface ChunkEditorOptions {
  callId: string;
  engine: IdHabit;
  shape: ChunkShape;
  canonicalModel: string;
  /** Whether the client asked to see the usage. */
  includeUsage: boolean;
  isCacheCapable: boolean;
  /** The charge of a usage. */
  chargeOf: (usage: EngineUsage) => NanoUsd;
}

/**
 * Turns an engine's chunks into the client's. A chunk is written anew from a list of keys, and so is its delta: `id`,
 * `object`, `created`, `model`, `choices` with `index`, the new value, `logprobs` (always null) and `finish_reason`; `usage`
 * where it was asked for. Nothing else an engine writes can leak. The first chunk gives `id` and `created` to all; the model
 * is the canonical id. The finish reason comes once, in a chunk of its own behind all others (`lastEvents`), because some
 * engines send more text behind a reason.
 *
 * Plain text is edited by copying (`ChunkFrame`), anything else is parsed.
 */
export class ChunkEditor {
  readonly #options: ChunkEditorOptions;
  readonly #values: ValueEditor;
  #identity: AnswerIdentity | undefined;
  #frame: ChunkFrame | undefined;
  #latestUsage: Buffer | ShownUsage | undefined;
  /** Where the bytes of the latest usage lie. */
  #usageRoom = NO_ROOM;
  /** The engine's latest. */
  #finishReason: string | undefined;
  #hasFinalUsage = false;

  constructor(options: ChunkEditorOptions) {
    this.#options = options;
    this.#values = options.shape.createValueEditor();
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

  /** Whether the client has been shown a tool call. */
  get hasToolCall(): boolean {
    return this.#values.hasToolCall;
  }

  /** The last chunks of a finished stream: the finish reason, and behind it the usage of the whole for a client that asked. */
  get lastEvents(): Buffer {
    const { shape, includeUsage } = this.#options;
    const finishReason = toShownFinishReason(this.#finishReason ?? '', this.#values);
    const usage = this.#hasFinalUsage && includeUsage ? this.usage : undefined;
    const finish = this.#render({ value: shape.emptyValue, finishReason });
    return Buffer.from(usage ? finish + this.#render(undefined, toUsageBody(usage, this.#options)) : finish);
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
    else if (isPlain(given)) this.#learnFrame(data);
    if (this.#finishReason === undefined ? isEmpty(value) : isSilent) return NOTHING;
    return { kind: 'chunk', bytes: Buffer.from(this.#render({ value, finishReason: null })) };
  }

  #render(
    part: { value: unknown; finishReason: FinishReason | null } | undefined,
    usage: TokenUsage | null = null,
  ): string {
    const { shape, canonicalModel: model, includeUsage } = this.#options;
    const identity = this.#identity ?? readIdentity({}, shape.idPrefix);
    return `data: ${JSON.stringify(shape.toChunk({ ...identity, model, ...(includeUsage && { usage }) }, part))}\n\n`;
  }

  #learnFrame(data: Buffer): void {
    const { valueKey, emptyValue } = this.#options.shape;
    const clientEvent = this.#render({ value: emptyValue, finishReason: null });
    this.#frame = ChunkFrame.learn(data, { valueKey, emptyValue, clientEvent });
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
