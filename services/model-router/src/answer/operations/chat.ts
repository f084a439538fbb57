import { randomBytes } from 'node:crypto';
import type { ChatChunk, ChatCompletion, ChatDelta, ToolCall } from '@turnpike/public-api/chatAnswer';
import type { FinishReason } from '@turnpike/public-api/generatedAnswer';
import type { TextChunk } from '@turnpike/public-api/textCompletion';
import type { TokenUsage } from '@turnpike/public-api/tokenUsage';
import type { WireError } from '@turnpike/public-api/wireError';
import type {
  AnswerTerms,
  ChunkShape,
  EncoderTerms,
  PlainField,
  PlainFrame,
  StreamEncoder,
  StreamFinish,
  ValueEditor,
} from '../chunks/streamEncoder.ts';
import {
  type AnswerIdentity,
  isObject,
  MAX_ID_LENGTH,
  type MessageFields,
  pickMessageFields,
  readEngineUsage,
  readIdentity,
  readStopText,
  type ShownUsage,
  toolCallsOf,
  toShownFinishReason,
  toUsageBody,
} from '../fields/answerFields.ts';
import { type AnswerOptions, readAnswer, toPayload, type WholeAnswer } from './wholeAnswer.ts';

/** An engine's non-streaming chat answer, with the fields that clients may see. */
export interface ChatAnswer {
  identity: AnswerIdentity;
  message: MessageFields;
  toolCalls: ToolCall[];
  finishReason: FinishReason;
  /** The text of `stop` that ended it, if the engine reports it. */
  stopText: string | undefined;
  usage: ShownUsage;
}

/** Makes the function that turns an engine's whole answer to a chat into a client's, as `write` has it. */
export const editChatAnswers =
  (write: (answer: ChatAnswer, terms: AnswerTerms) => object) =>
  (bytes: Buffer, terms: AnswerOptions): WholeAnswer => {
    const read = readAnswer(bytes, terms);
    if (read.kind !== 'read') return read;
    const { answer, choice, finishReason: reason } = read;
    if (!isObject(choice.message)) return { kind: 'broken' };
    const message = pickMessageFields(choice.message);
    const toolCalls = editToolCalls(toolCallsOf(choice.message));
    if (!message || !toolCalls) return { kind: 'broken' };
    const hasToolCall = toolCalls.length > 0;
    const usage = readEngineUsage(answer.usage);
    const identity = readIdentity(answer, CHAT_CHUNKS.idPrefix);
    const finishReason = toShownFinishReason(reason, { hasToolCall });
    const shown = { identity, message, toolCalls, finishReason, stopText: readStopText(choice) };
    const payload = usage && toPayload(write({ ...shown, usage }, terms));
    return { kind: 'answer', payload, usage, hasToolCall };
  };

/**
 * Writes an engine's whole chat answer anew from the convention's keys, with the canonical model, cache and reasoning counts. Nothing
 * else that an engine adds reaches the client.
 */
export const editChatAnswer = editChatAnswers(
  ({ identity: { id, created }, message, toolCalls, finishReason, usage }, { canonicalModel, ...terms }) =>
    ({
      id,
      object: 'chat.completion',
      created,
      model: canonicalModel,
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: null,
            refusal: null,
            ...message,
            ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
          },
          logprobs: null,
          finish_reason: finishReason,
        },
      ],
      usage: toUsageBody(usage, terms),
    }) satisfies ChatCompletion,
);

/** A whole answer's calls, each its own first and last delta. Undefined where one is none, or has no name. */
function editToolCalls(entries: readonly unknown[]): ToolCall[] | undefined {
  const editor = new ToolCallEditor();
  const deltas = editor.edit(entries.map((entry, index) => (isObject(entry) ? { ...entry, index } : entry)));
  if (!deltas || editor.hasUnshowable) return undefined;
  return deltas.flatMap(({ index: _index, ...call }) => (call.id === undefined ? [] : [call]));
}

/**
 * Converts the deltas of one chat stream to the client's. The role is sent once, in the first delta, and only fields
 * that clients know are sent.
 */
class ChatDeltaEditor implements ValueEditor<ChatDelta> {
  /** Whether any tool call has been shown. Changed here alone. */
  hasToolCall = false;
  /** Created at the first call. */
  #toolCalls: ToolCallEditor | undefined;
  #hasRole = false;

  get hasUnshowableCall(): boolean {
    return this.#toolCalls?.hasUnshowable ?? false;
  }

  /** Returns undefined if the engine's delta is malformed, and an empty object if it has nothing for the client. */
  edit(delta: unknown): ChatDelta | undefined {
    if (!isObject(delta)) return undefined;
    const fields = pickMessageFields(delta);
    const given = toolCallsOf(delta);
    if (given.length > 0) this.#toolCalls ??= new ToolCallEditor();
    const toolCalls = given.length > 0 ? this.#toolCalls?.edit(given) : NO_CALLS;
    this.hasToolCall = this.#toolCalls?.hasCall ?? false;
    if (!fields || !toolCalls) return undefined;
    const isFirst = !this.#hasRole;
    this.#hasRole = true;
    return { ...(isFirst && { role: 'assistant' }), ...fields, ...(toolCalls.length > 0 && { tool_calls: toolCalls }) };
  }
}

const NO_CALLS: ToolCallDelta[] = [];

/** Reads the deltas of a chat, for every API of clients. */
export const CHAT_DELTAS = {
  idPrefix: 'chatcmpl',
  valueKey: 'delta',
  emptyValue: {},
  createValueEditor: () => new ChatDeltaEditor(),
} satisfies Omit<ChunkShape<ChatDelta>, 'createEncoder'>;

/** Fields of all chunks of a stream. */
interface ChunkHead extends AnswerIdentity {
  model: string;
  /** If the client requested usage, every chunk has the key, as in the convention. */
  usage?: TokenUsage | null;
}

/** The format of chunks. */
export interface ChunkForm<Value> {
  emptyValue: Value;
  /** The fields that contain a plain text, by its own field. */
  plainFields: Partial<Record<PlainField, readonly string[]>>;
  /** A chunk with one choice, or with none. */
  toChunk(
    head: ChunkHead,
    part: { value: Value; finishReason: FinishReason | null } | undefined,
  ): ChatChunk | TextChunk;
}

const DONE = 'data: [DONE]\n\n';
/** Placeholder for the text of a frame. No model name contains it, and no id is as long. */
const MARK = 'TEXT'.repeat(80);

/**
 * Writes chunks, one event each. A chunk has `id`, `object`, `created`, `model` and at most one choice, and `usage` if
 * the client requested it. `[DONE]` ends a complete stream.
 */
export class ChunkEncoder<Value> implements StreamEncoder<Value> {
  readonly #form: ChunkForm<Value>;
  readonly #terms: EncoderTerms;

  constructor(form: ChunkForm<Value>, terms: EncoderTerms) {
    this.#form = form;
    this.#terms = terms;
  }

  write(identity: AnswerIdentity, value: Value): string {
    return this.#event(identity, { value, finishReason: null });
  }

  framePlain(identity: AnswerIdentity, field: PlainField): PlainFrame | undefined {
    const fields = this.#form.plainFields[field];
    if (!fields) return undefined;
    const named: Record<string, string> = {};
    for (const name of fields) named[name] = MARK;
    const value = fields.length === 0 ? MARK : named;
    return { parts: this.write(identity, value as Value).split(MARK) };
  }

  finish(identity: AnswerIdentity, { finishReason, usage }: StreamFinish): string {
    const finish = this.#event(identity, { value: this.#form.emptyValue, finishReason });
    const isShown = usage && this.#terms.includeUsage;
    return `${finish}${isShown ? this.#event(identity, undefined, toUsageBody(usage, this.#terms)) : ''}${DONE}`;
  }

  fail({ body }: WireError): string {
    return `data: ${JSON.stringify(body)}\n\n`;
  }

  #event(
    identity: AnswerIdentity,
    part: { value: Value; finishReason: FinishReason | null } | undefined,
    usage: TokenUsage | null = null,
  ): string {
    const { canonicalModel: model, includeUsage } = this.#terms;
    const head = { ...identity, model, ...(includeUsage && { usage }) };
    return `data: ${JSON.stringify(this.#form.toChunk(head, part))}\n\n`;
  }
}

const CHUNK_FORM: ChunkForm<ChatDelta> = {
  emptyValue: {},
  plainFields: { content: ['content'], reasoning: ['reasoning', 'reasoning_content'] },
  toChunk: ({ id, created, model, ...usage }, part) =>
    ({
      id,
      object: 'chat.completion.chunk',
      created,
      model,
      choices: part ? [{ index: 0, delta: part.value, logprobs: null, finish_reason: part.finishReason }] : [],
      ...usage,
    }) satisfies ChatChunk,
};

export const CHAT_CHUNKS: ChunkShape<ChatDelta> = {
  ...CHAT_DELTAS,
  createEncoder: (terms) => new ChunkEncoder(CHUNK_FORM, terms),
};

/** Most calls in one answer, and most of all their arguments before a name. A prompt can make a model write more. */
const MAX_CALLS = 1_024;
const MAX_WAITING_LENGTH = 65_536;

interface OpenToolCall {
  /** Number of the call, as the client counts from 0. */
  index: number;
  id: string;
  /** Whether its first delta, the one with its name, has been shown. */
  hasBegun: boolean;
  /** Arguments that came before the name of the function. */
  waitingArguments: string;
}

/** A part of a tool call in the client's form. The first part is a complete call; later parts have arguments only. */
export type ToolCallDelta = { index: number } & (
  | ToolCall
  | { id?: undefined; type?: undefined; function: { name?: undefined; arguments: string } }
);

/**
 * Converts an engine's tool call deltas to the convention's form. `index` counts the calls from 0 in the order of their
 * first appearance. The first delta of each call has `id`, `type` and name; later ones have arguments only, always as
 * text. Missing ids are invented. Engines leave ids out, repeat names and number calls differently in each release.
 */
export class ToolCallEditor {
  /** Calls by the engine's index, or by id if the engine gives no index. */
  readonly #calls = new Map<number | string, OpenToolCall>();
  readonly #ids = new Set<string>();
  #latestKey: number | string = 0;
  /** Length of all arguments that came before a name. */
  #waitingLength = 0;
  #isOverfull = false;
  /** Whether any call has been shown. Changed here alone. */
  hasCall = false;

  /** Whether a call has no name yet, or there are too many calls, or arguments without a name. */
  get hasUnshowable(): boolean {
    return this.#isOverfull || this.#calls.values().some(({ hasBegun }) => !hasBegun);
  }

  /**
   * Returns the client's deltas, which may be none. Returns undefined if the engine's deltas are malformed or too many.
   */
  edit(entries: readonly unknown[]): ToolCallDelta[] | undefined {
    const deltas: ToolCallDelta[] = [];
    for (const entry of entries) {
      if (!isObject(entry)) return undefined;
      const named = isObject(entry.function) ? entry.function : {};
      const call = this.#findOrOpen(entry);
      if (!call) return undefined;
      const text = toArgumentsText(named.arguments);
      const delta = toDelta(call, named.name, text);
      this.hasCall ||= call.hasBegun;
      if (delta) deltas.push(delta);
      else if (!call.hasBegun) this.#waitingLength += text.length;
      if (this.#waitingLength > MAX_WAITING_LENGTH) return this.#refuse();
    }
    return deltas;
  }

  #refuse(): undefined {
    this.#isOverfull = true;
  }

  #findOrOpen({ index, id }: Record<string, unknown>): OpenToolCall | undefined {
    const givenId = typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH ? id : undefined;
    const key = typeof index === 'number' ? index : (givenId ?? this.#latestKey);
    this.#latestKey = key;
    const known = this.#calls.get(key);
    if (known) return known;
    if (this.#calls.size === MAX_CALLS) return this.#refuse();
    // The client's next message names the call by its id, so each id has to be unique.
    const isUsable = givenId !== undefined && !this.#ids.has(givenId);
    const call: OpenToolCall = {
      index: this.#calls.size,
      id: isUsable ? givenId : `call_${randomBytes(12).toString('hex')}`,
      hasBegun: false,
      waitingArguments: '',
    };
    this.#calls.set(key, call);
    this.#ids.add(call.id);
    return call;
  }
}

/** Returns the call's next delta. Returns undefined if there is nothing new, or no name to begin with. */
function toDelta(call: OpenToolCall, name: unknown, text: string): ToolCallDelta | undefined {
  const { index, id } = call;
  if (call.hasBegun) return text === '' ? undefined : { index, function: { arguments: text } };
  if (typeof name !== 'string' || name === '') {
    call.waitingArguments += text;
    return undefined;
  }
  call.hasBegun = true;
  return { index, id, type: 'function', function: { name, arguments: call.waitingArguments + text } };
}

/** Returns the arguments as text. Some engines write them as an object. */
function toArgumentsText(given: unknown): string {
  if (typeof given === 'string') return given;
  return given === undefined || given === null ? '' : JSON.stringify(given);
}
