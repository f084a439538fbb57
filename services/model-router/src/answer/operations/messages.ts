import type { ChatDelta } from '@turnpike/public-api/chatAnswer';
import type { FinishReason } from '@turnpike/public-api/generatedAnswer';
import { toMessagesError } from '@turnpike/public-api/messagesError';
import type { WireError } from '@turnpike/public-api/wireError';
import type { ChunkShape } from '../chunks/chunkEditor.ts';
import type { AnswerTerms, PlainField, PlainFrame, StreamEncoder, StreamFinish } from '../chunks/streamEncoder.ts';
import { type AnswerIdentity, isObject, type ShownUsage, toUsageBody } from '../fields/answerFields.ts';
import { CHAT_DELTAS, editChatAnswers } from './chat.ts';

/** Stands where the convention has a signature: nothing is sealed here. Clients drop what has none. */
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

/** A call's input as the object it is. What is none, as one that was cut, is shown as it came. */
function toInput(text: string): object {
  try {
    const input: unknown = JSON.parse(text === '' ? '{}' : text);
    if (isObject(input)) return input;
  } catch {
    // Shown as it came.
  }
  return { arguments: text };
}

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

/** A block that is being written. */
interface OpenBlock {
  index: number;
  type: 'thinking' | 'text' | 'tool_use';
}

/**
 * Writes a message's events: it begins, each block with its pieces, why it ended and what it used. A text ends where something else
 * begins. Calls end with the message, as engines may write them, and text between, in turns.
 */
class MessageEncoder implements StreamEncoder<ChatDelta> {
  readonly #terms: AnswerTerms;
  #hasBegun = false;
  #count = 0;
  #text: OpenBlock | undefined;
  readonly #calls = new Map<number, OpenBlock>();

  constructor(terms: AnswerTerms) {
    this.#terms = terms;
  }

  write(_identity: AnswerIdentity, delta: ChatDelta, counted: ShownUsage | undefined): string {
    let events = this.#begin(counted);
    if (delta.reasoning) events += this.#writeText('thinking', delta.reasoning);
    for (const text of [delta.content, delta.refusal]) if (text) events += this.#writeText('text', text);
    for (const call of delta.tool_calls ?? []) events += this.#writeCall(call);
    return events;
  }

  /** A text goes on in the block that is open. */
  framePlain(_identity: AnswerIdentity, field: PlainField): PlainFrame | undefined {
    const type = field === 'reasoning' ? 'thinking' : 'text';
    const block = this.#text?.type === type ? this.#text : undefined;
    return block && { parts: event('content_block_delta', toTextDelta(block, MARK)).split(MARK) };
  }

  finish(_identity: AnswerIdentity, { usage, ...end }: StreamFinish): string {
    const before = `${this.#begin(usage)}${this.#close()}`;
    const delta = event('message_delta', { delta: toStop(end), usage: toMessageUsage(usage, this.#terms) });
    return `${before}${delta}${event('message_stop', {})}`;
  }

  fail(error: WireError): string {
    const { type, ...body } = toMessagesError(error, undefined);
    return event(type, body);
  }

  #begin(counted: ShownUsage | undefined): string {
    if (this.#hasBegun) return '';
    this.#hasBegun = true;
    const { cost: _cost, ...usage } = { cost: 0, ...toMessageUsage(counted, this.#terms), output_tokens: 0 };
    const message = { ...toHead(this.#terms), content: [], stop_reason: null, stop_sequence: null, usage };
    return event('message_start', { message });
  }

  #writeText(type: 'thinking' | 'text', text: string): string {
    let block = this.#text;
    let events = '';
    if (block?.type !== type) {
      events = this.#closeText();
      block = this.#openBlock(type);
      this.#text = block;
      const empty = type === 'thinking' ? { type, thinking: '', signature: '' } : { type, text: '' };
      events += event('content_block_start', { index: block.index, content_block: empty });
    }
    return `${events}${event('content_block_delta', toTextDelta(block, text))}`;
  }

  #writeCall({ index, id, function: called }: NonNullable<ChatDelta['tool_calls']>[number]): string {
    let block = this.#calls.get(index);
    let events = '';
    if (!block) {
      events = this.#closeText();
      block = this.#openBlock('tool_use');
      this.#calls.set(index, block);
      const opened = { type: 'tool_use', id, name: called?.name, input: {} };
      events += event('content_block_start', { index: block.index, content_block: opened });
    }
    const text = called?.arguments ?? '';
    if (text === '') return events;
    const delta = { type: 'input_json_delta', partial_json: text };
    return `${events}${event('content_block_delta', { index: block.index, delta })}`;
  }

  #openBlock(type: OpenBlock['type']): OpenBlock {
    const block = { index: this.#count, type };
    this.#count += 1;
    return block;
  }

  /** Ends all blocks that are open. */
  #close(): string {
    const calls = this.#calls.values().map(({ index }) => event('content_block_stop', { index }));
    const events = `${this.#closeText()}${[...calls].join('')}`;
    this.#calls.clear();
    return events;
  }

  #closeText(): string {
    if (!this.#text) return '';
    const { index, type } = this.#text;
    this.#text = undefined;
    const signed = { index, delta: { type: 'signature_delta', signature: SIGNATURE } };
    return `${type === 'thinking' ? event('content_block_delta', signed) : ''}${event('content_block_stop', { index })}`;
  }
}

/** Stands for the text where a frame is made. */
const MARK = 'TEXT'.repeat(80);

const toTextDelta = ({ index, type }: OpenBlock, text: string) => ({
  index,
  delta: type === 'thinking' ? { type: 'thinking_delta', thinking: text } : { type: 'text_delta', text },
});

const event = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

export const MESSAGE_EVENTS: ChunkShape<ChatDelta> = {
  ...CHAT_DELTAS,
  createEncoder: (terms) => new MessageEncoder(terms),
};
