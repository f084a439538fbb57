import type { ChatDelta } from '@turnpike/public-api/chatAnswer';
import type { FinishReason } from '@turnpike/public-api/generatedAnswer';
import { toMessagesError } from '@turnpike/public-api/messagesError';
import type { WireError } from '@turnpike/public-api/wireError';
import type {
  AnswerTerms,
  ChunkShape,
  PlainField,
  PlainFrame,
  StreamEncoder,
  StreamFinish,
} from '../chunks/streamEncoder.ts';
import { type AnswerIdentity, isObject, type ShownUsage, toUsageBody } from '../fields/answerFields.ts';
import { CHAT_DELTAS, editChatAnswers } from './chat.ts';

/** Placeholder for the convention's signature, because nothing is signed here. Clients drop blocks without one. */
const SIGNATURE = 'unsigned';

/** An engine's whole answer to a chat as a message. */
export const editMessage = editChatAnswers(({ message, toolCalls, finishReason, stopText, usage }, terms) => {
  const { reasoning, content, refusal } = message;
  const blocks: object[] = [];
  if (reasoning) blocks.push({ type: 'thinking', thinking: reasoning, signature: SIGNATURE });
  for (const text of [content, refusal]) if (text) blocks.push({ type: 'text', text });
  for (const { id, function: called } of toolCalls)
    blocks.push({ type: 'tool_use', id, name: called.name, input: toInput(called.arguments) });
  return {
    ...toHead(terms),
    content: blocks,
    ...toStop({ finishReason, stopText }),
    usage: toMessageUsage(usage, terms),
  };
});

/** Parses a tool call's input, and keeps its numbers digit for digit. Text that is no object, as of a call cut short, is shown as it came. */
function toInput(text: string): object {
  try {
    const input: unknown = JSON.parse(text === '' ? '{}' : text, keepDigits as Reviver);
    if (isObject(input) && !JSON.isRawJSON(input)) return input;
  } catch {
    // Shown as it came.
  }
  return { arguments: text };
}

declare global {
  /** Members of Node that the compiler lacks. */
  interface JSON {
    rawJSON(text: string): object;
    isRawJSON(value: unknown): boolean;
  }
}
type Reviver = NonNullable<Parameters<typeof JSON.parse>[1]>;

/** Keeps a number as the model wrote it. As a double an id of 19 digits is another one, and 1e400 is null. */
const keepDigits = (_key: string, value: unknown, { source }: { source?: string }): unknown =>
  typeof value === 'number' && source !== undefined ? JSON.rawJSON(source) : value;

const toHead = ({ callId, canonicalModel: model }: AnswerTerms) => ({
  id: `msg_${callId.replaceAll('-', '')}`,
  type: 'message',
  role: 'assistant',
  model,
});

const STOP_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
};

const toStop = ({ finishReason, stopText }: Pick<StreamFinish, 'finishReason' | 'stopText'>) =>
  finishReason === 'stop' && stopText !== undefined
    ? { stop_reason: 'stop_sequence', stop_sequence: stopText }
    : { stop_reason: STOP_REASONS[finishReason], stop_sequence: null };

/** `input_tokens` are those that were not read from the cache: with the others they are the prompt. */
function toMessageUsage(usage: ShownUsage | undefined, terms: AnswerTerms) {
  if (!usage) return { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 };
  const body = toUsageBody(usage, terms);
  const cached = body.cache_read_input_tokens;
  return {
    input_tokens: body.prompt_tokens - cached,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    output_tokens: body.completion_tokens,
    cost: body.cost,
  };
}

/** A part of an answer, which is written into a block of its kind. */
type Part = { type: 'thinking' | 'text'; text: string } | { type: 'tool_use'; call: CallPart; text: string };
type CallPart = Pick<NonNullable<ChatDelta['tool_calls']>[number], 'index' | 'id' | 'function'>;

/** A block that is being written. */
interface OpenBlock {
  index: number;
  type: Part['type'];
  /** The number of a call and the end of its arguments. Absent for other parts. */
  call?: { index: number; input: InputEnd };
}

/** Follows the arguments of a call, which are a JSON object, to their end. */
class InputEnd {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** Whether the object has ended. Changed here alone. */
  isWhole = false;

  push(text: string): void {
    for (const character of text) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (this.#isInString && character === '\\') this.#isEscaped = true;
      else if (character === '"') this.#isInString = !this.#isInString;
      else if (!this.#isInString && (character === '{' || character === '[')) this.#depth += 1;
      else if (!this.#isInString && (character === '}' || character === ']')) {
        this.#depth -= 1;
        this.isWhole = this.#depth === 0;
      }
    }
  }
}

/** Most text that waits for the end of a call. It is more than any model writes. */
const MAX_WAITING_LENGTH = 16 * 1_048_576;

/**
 * Writes a message's events: it begins, each block with its pieces, why it ended and what it used. Blocks follow each other, as clients
 * take the latest one for the one that is written. Where an engine writes calls in turns, all that follows a call waits for the end of
 * its arguments.
 */
class MessageEncoder implements StreamEncoder<ChatDelta> {
  readonly #terms: AnswerTerms;
  #hasBegun = false;
  #count = 0;
  #open: OpenBlock | undefined;
  /** The places of calls that have ended. */
  readonly #ended = new Map<number, number>();
  /** Parts that follow the call that is open. */
  #waiting: Part[] = [];
  readonly #waitingCalls = new Map<number, Part>();
  #waitingLength = 0;

  constructor(terms: AnswerTerms) {
    this.#terms = terms;
  }

  write(_identity: AnswerIdentity, delta: ChatDelta, counted: ShownUsage | undefined): string {
    let events = this.#begin(counted);
    if (delta.reasoning) events += this.#writePart({ type: 'thinking', text: delta.reasoning });
    for (const text of [delta.content, delta.refusal]) if (text) events += this.#writePart({ type: 'text', text });
    for (const call of delta.tool_calls ?? [])
      events += this.#writePart({ type: 'tool_use', call, text: call.function?.arguments ?? '' });
    return events;
  }

  /** A text goes on in the block that is open. */
  framePlain(_identity: AnswerIdentity, field: PlainField): PlainFrame | undefined {
    const type = field === 'reasoning' ? 'thinking' : 'text';
    const block = this.#open?.type === type ? this.#open : undefined;
    return block && { parts: event('content_block_delta', toDelta(block, MARK)).split(MARK) };
  }

  finish(_identity: AnswerIdentity, { usage, ...end }: StreamFinish): string {
    const before = `${this.#begin(usage)}${this.#writeWaiting(true)}${this.#close()}`;
    const delta = event('message_delta', { delta: toStop(end), usage: toMessageUsage(usage, this.#terms) });
    return `${before}${delta}${event('message_stop', {})}`;
  }

  fail(error: WireError): string {
    const { type, ...body } = toMessagesError(error, undefined);
    return `${this.#writeWaiting(true)}${event(type, body)}`;
  }

  #begin(counted: ShownUsage | undefined): string {
    if (this.#hasBegun) return '';
    this.#hasBegun = true;
    const { cost: _cost, ...usage } = { cost: 0, ...toMessageUsage(counted, this.#terms), output_tokens: 0 };
    const message = { ...toHead(this.#terms), content: [], stop_reason: null, stop_sequence: null, usage };
    return event('message_start', { message });
  }

  #writePart(part: Part): string {
    const open = this.#open;
    if (open && isOf(part, open)) {
      const events = this.#writeInto(open, part.text);
      return open.call?.input.isWhole && this.#waiting.length > 0 ? events + this.#writeWaiting() : events;
    }
    const ended = part.type === 'tool_use' ? this.#ended.get(part.call.index) : undefined;
    // A model that writes on behind the end of an object: clients put pieces together by their place.
    if (ended !== undefined) return this.#writeInto({ index: ended, type: 'tool_use' }, part.text);
    if (open?.call && !open.call.input.isWhole) {
      this.#hold(part);
      return '';
    }
    return this.#openBlock(part);
  }

  /** Keeps a part that follows the call that is open; pieces of one call together. */
  #hold(part: Part): void {
    this.#waitingLength += part.text.length;
    if (this.#waitingLength > MAX_WAITING_LENGTH) throw new Error('an answer is longer than any model writes');
    const latest = this.#waiting.at(-1);
    const known = part.type === 'tool_use' ? this.#waitingCalls.get(part.call.index) : latest;
    if (known?.type === part.type) {
      known.text += part.text;
      return;
    }
    this.#waiting.push(part);
    if (part.type === 'tool_use') this.#waitingCalls.set(part.call.index, part);
  }

  /** Writes what waits, up to and with a call whose arguments have not ended. At the end of an answer, all of it. */
  #writeWaiting(isEnd = false): string {
    const waiting = this.#waiting;
    let events = '';
    let count = 0;
    for (const part of waiting) {
      events += this.#openBlock(part);
      count += 1;
      if (part.type === 'tool_use') this.#waitingCalls.delete(part.call.index);
      this.#waitingLength -= part.text.length;
      if (!isEnd && this.#open?.call && !this.#open.call.input.isWhole) break;
    }
    this.#waiting = waiting.slice(count);
    return events;
  }

  #openBlock(part: Part): string {
    const before = this.#close();
    const block: OpenBlock = { index: this.#count, type: part.type };
    this.#count += 1;
    if (part.type === 'tool_use') block.call = { index: part.call.index, input: new InputEnd() };
    this.#open = block;
    const started = event('content_block_start', { index: block.index, content_block: toEmptyBlock(part) });
    return `${before}${started}${this.#writeInto(block, part.text)}`;
  }

  #writeInto(block: OpenBlock, text: string): string {
    block.call?.input.push(text);
    return text === '' ? '' : event('content_block_delta', toDelta(block, text));
  }

  /** Ends the block that is open. */
  #close(): string {
    if (!this.#open) return '';
    const { index, type, call } = this.#open;
    this.#open = undefined;
    if (call) this.#ended.set(call.index, index);
    const signed = { index, delta: { type: 'signature_delta', signature: SIGNATURE } };
    return `${type === 'thinking' ? event('content_block_delta', signed) : ''}${event('content_block_stop', { index })}`;
  }
}

/** Whether a part goes on in a block. */
const isOf = (part: Part, { type, call }: OpenBlock): boolean =>
  type === part.type && (part.type !== 'tool_use' || call?.index === part.call.index);

function toEmptyBlock(part: Part): object {
  const { type } = part;
  if (type === 'tool_use') return { type, id: part.call.id, name: part.call.function?.name, input: {} };
  return type === 'thinking' ? { type, thinking: '', signature: '' } : { type, text: '' };
}

/** Placeholder for the text of a frame. */
const MARK = 'TEXT'.repeat(80);

function toDelta({ index, type }: OpenBlock, text: string): object {
  if (type === 'tool_use') return { index, delta: { type: 'input_json_delta', partial_json: text } };
  return {
    index,
    delta: type === 'thinking' ? { type: 'thinking_delta', thinking: text } : { type: 'text_delta', text },
  };
}

const event = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

export const MESSAGE_EVENTS: ChunkShape<ChatDelta> = {
  ...CHAT_DELTAS,
  keepAlive: Buffer.from(event('ping', {})),
  createEncoder: (terms) => new MessageEncoder(terms),
};
