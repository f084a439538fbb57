import type { ChatDelta, ToolCall } from '@turnpike/public-api/chatAnswer';
import type { WireError } from '@turnpike/public-api/wireError';
import { toExplanation } from '@turnpike/public-api/wireError';
import type {
  AnswerTerms,
  ChunkShape,
  PlainField,
  PlainFrame,
  StreamEncoder,
  StreamFinish,
} from '../chunks/streamEncoder.ts';
import { type AnswerIdentity, type ShownUsage, toUsageBody } from '../fields/answerFields.ts';
import { CHAT_DELTAS, type ChatAnswer, editChatAnswers } from './chat.ts';

/** An item of an answer. */
type OutputItem = { type: 'reasoning' | 'message' | 'function_call'; id: string; status: string } & Record<
  string,
  unknown
>;
type Ended = Pick<ChatAnswer, 'finishReason'>;

/** An engine's whole answer to a chat as a response. */
export const editResponse = editChatAnswers(({ identity, message, toolCalls, finishReason, usage }, terms) => {
  const items = new ItemNames(terms);
  const output: OutputItem[] = [];
  const status = toStatus({ finishReason });
  const add = (type: OutputItem['type'], fields: object) =>
    output.push({ type, id: items.idOf(type, output.length), status, ...fields });
  for (const { type, text } of textsOf(message)) add(toItemType(type), toTextFields(type, text));
  for (const call of toolCalls) add('function_call', toCallFields(items, call));
  return toResponse({ identity, terms, output, end: { finishReason }, usage });
});

/** Kinds of text in an answer. */
type TextType = 'reasoning_text' | 'output_text' | 'refusal';

function* textsOf({
  reasoning,
  content,
  refusal,
}: Pick<ChatDelta, 'reasoning' | 'content' | 'refusal'>): Generator<{ type: TextType; text: string }> {
  if (reasoning) yield { type: 'reasoning_text', text: reasoning };
  if (content) yield { type: 'output_text', text: content };
  if (refusal) yield { type: 'refusal', text: refusal };
}

const toItemType = (type: TextType): 'reasoning' | 'message' => (type === 'reasoning_text' ? 'reasoning' : 'message');

function toPart(type: TextType, text: string): object {
  if (type === 'refusal') return { type, refusal: text };
  return type === 'output_text' ? { type, text, annotations: [], logprobs: [] } : { type, text };
}

const toTextFields = (type: TextType, text: string): object =>
  type === 'reasoning_text'
    ? { summary: [], content: [toPart(type, text)] }
    : { role: 'assistant', content: [toPart(type, text)] };

const toCallFields = (items: ItemNames, { id, function: { name, arguments: text } }: ToolCall): object => ({
  call_id: id,
  ...items.nameOf(name),
  arguments: text,
});

const ID_PREFIXES = { reasoning: 'rs', message: 'msg', function_call: 'fc' } as const;

/** Ids of an answer's items, and names of functions as their client knows them. */
class ItemNames {
  readonly #terms: AnswerTerms;

  constructor(terms: AnswerTerms) {
    this.#terms = terms;
  }

  idOf(type: OutputItem['type'], index: number): string {
    return `${ID_PREFIXES[type]}_${toHex(this.#terms)}${index}`;
  }

  nameOf(name: string): { name: string; namespace?: string } {
    return this.#terms.echo?.namespaced.get(name) ?? { name };
  }
}

const toHex = ({ callId }: AnswerTerms): string => callId.replaceAll('-', '');

const toStatus = ({ finishReason }: Ended): 'completed' | 'incomplete' =>
  finishReason === 'length' || finishReason === 'content_filter' ? 'incomplete' : 'completed';

interface ResponseParts {
  identity: AnswerIdentity;
  terms: AnswerTerms;
  output: readonly object[];
  /** The end of the answer; undefined while it is in progress. */
  end?: Ended | { error: object };
  usage?: ShownUsage | undefined;
}

function toResponse({ identity, terms, output, end, usage }: ResponseParts): object {
  const hasFailed = end !== undefined && 'error' in end;
  const status = end === undefined ? 'in_progress' : hasFailed ? 'failed' : toStatus(end);
  const reason = end && !hasFailed && end.finishReason === 'content_filter' ? 'content_filter' : 'max_output_tokens';
  return {
    id: `resp_${toHex(terms)}`,
    object: 'response',
    created_at: identity.created,
    status,
    background: false,
    error: hasFailed ? end.error : null,
    incomplete_details: status === 'incomplete' ? { reason } : null,
    model: terms.canonicalModel,
    output,
    ...terms.echo?.fields,
    usage: usage ? toResponseUsage(usage, terms) : null,
  };
}

function toResponseUsage(usage: ShownUsage, terms: AnswerTerms): object {
  const body = toUsageBody(usage, terms);
  return {
    input_tokens: body.prompt_tokens,
    input_tokens_details: body.prompt_tokens_details,
    output_tokens: body.completion_tokens,
    output_tokens_details: body.completion_tokens_details,
    total_tokens: body.total_tokens,
    cost: body.cost,
  };
}

/** Text of an answer that its last events repeat, at most. It is more than any model writes. */
const MAX_KEPT_LENGTH = 16 * 1_048_576;

const textOf = ({ written }: OpenItem): string => JSON.parse(`"${written}"`) as string;

/** Placeholder for the text of a frame. */
const MARK = 'TEXT'.repeat(80);

const toPlace = ({ id, index }: OpenItem) => ({ item_id: id, output_index: index, content_index: 0 });

/** An item that is being written. */
interface OpenItem {
  index: number;
  id: string;
  type: OutputItem['type'];
  /** The form of its text; undefined for a call. */
  textType?: TextType;
  call?: { call_id: string; name: string };
  /** Its text as JSON has it, without the quotes. */
  written: string;
}

/**
 * Writes a response's events: it begins, each item with its parts and pieces, and the whole of it at the end. A text ends where
 * something else begins. Calls end with the answer, as engines may write them, and text between, in turns.
 */
class ResponseEncoder implements StreamEncoder<ChatDelta> {
  readonly #terms: AnswerTerms;
  readonly #items: ItemNames;
  #sequence = 0;
  /** The identity that the first event has; undefined before it. */
  #identity: AnswerIdentity | undefined;
  #keptLength = 0;
  #text: OpenItem | undefined;
  readonly #calls = new Map<number, OpenItem>();
  #count = 0;
  /** Items that have ended, at their places. */
  readonly #output: OutputItem[] = [];

  constructor(terms: AnswerTerms) {
    this.#terms = terms;
    this.#items = new ItemNames(terms);
  }

  write(identity: AnswerIdentity, delta: ChatDelta): string {
    let events = this.#begin(identity);
    for (const { type, text } of textsOf(delta)) events += this.#writeText(type, text);
    for (const call of delta.tool_calls ?? []) events += this.#writeCall(call);
    return events;
  }

  /** A text goes on in the item that is open; every event has a number of its own. */
  framePlain(_identity: AnswerIdentity, field: PlainField): PlainFrame | undefined {
    const item = this.#text;
    if (item?.textType !== (field === 'reasoning' ? 'reasoning_text' : 'output_text')) return undefined;
    const type = `response.${item.textType}.delta`;
    const logprobs = item.textType === 'output_text' ? { logprobs: [] } : {};
    const rest = JSON.stringify({ ...toPlace(item), delta: MARK, ...logprobs });
    return {
      parts: `,${rest.slice(1)}\n\n`.split(MARK),
      begin: (text) => {
        this.#keepLength(text.length);
        item.written += text.toString();
        return `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.#number()}`;
      },
    };
  }

  finish(identity: AnswerIdentity, { finishReason, usage }: StreamFinish): string {
    const before = `${this.#begin(identity)}${this.#close(toStatus({ finishReason }))}`;
    const response = this.#respond(identity, { end: { finishReason }, usage });
    return `${before}${this.#event(`response.${toStatus({ finishReason })}`, { response })}`;
  }

  fail({ status, body }: WireError): string {
    const identity = this.#identity ?? { id: '', created: Math.floor(Date.now() / 1_000) };
    const { message, code: known } = toExplanation(body);
    const code = known === 'context_length_exceeded' ? known : toFailureCode(status);
    const before = `${this.#begin(identity)}${this.#close('incomplete')}`;
    const response = this.#respond(identity, { end: { error: { code, message } } });
    return `${before}${this.#event('response.failed', { response })}`;
  }

  #begin(identity: AnswerIdentity): string {
    if (this.#identity) return '';
    this.#identity = identity;
    const response = this.#respond(identity, {});
    return `${this.#event('response.created', { response })}${this.#event('response.in_progress', { response })}`;
  }

  #respond(identity: AnswerIdentity, parts: Pick<ResponseParts, 'end' | 'usage'>): object {
    return toResponse({ identity, terms: this.#terms, output: this.#output, ...parts });
  }

  #writeText(textType: TextType, text: string): string {
    let item = this.#text;
    let events = '';
    if (item?.textType !== textType) {
      events = this.#closeText('completed');
      item = this.#openItem({ type: toItemType(textType), textType });
      this.#text = item;
      events += this.#added(item, textType === 'reasoning_text' ? { summary: [] } : { role: 'assistant', content: [] });
      events += this.#event('response.content_part.added', { ...toPlace(item), part: toPart(textType, '') });
    }
    this.#keep(item, text);
    const logprobs = textType === 'output_text' ? { logprobs: [] } : {};
    return `${events}${this.#event(`response.${textType}.delta`, { ...toPlace(item), delta: text, ...logprobs })}`;
  }

  #writeCall({ index, id, function: named }: NonNullable<ChatDelta['tool_calls']>[number]): string {
    let item = this.#calls.get(index);
    let events = '';
    if (!item) {
      events = this.#closeText('completed');
      const call = { call_id: id ?? '', ...this.#items.nameOf(named?.name ?? '') };
      item = this.#openItem({ type: 'function_call', call });
      this.#calls.set(index, item);
      events += this.#added(item, { ...call, arguments: '' });
    }
    const text = named?.arguments ?? '';
    if (text === '') return events;
    this.#keep(item, text);
    const place = { item_id: item.id, output_index: item.index };
    return `${events}${this.#event('response.function_call_arguments.delta', { ...place, delta: text })}`;
  }

  #openItem(fields: Pick<OpenItem, 'type' | 'textType' | 'call'>): OpenItem {
    const index = this.#count;
    this.#count += 1;
    return { ...fields, index, id: this.#items.idOf(fields.type, index), written: '' };
  }

  #added({ index, type, id }: OpenItem, fields: object): string {
    const item = { type, id, status: 'in_progress', ...fields };
    return this.#event('response.output_item.added', { output_index: index, item });
  }

  #keep(item: OpenItem, text: string): void {
    this.#keepLength(text.length);
    item.written += JSON.stringify(text).slice(1, -1);
  }

  #keepLength(length: number): void {
    this.#keptLength += length;
    if (this.#keptLength > MAX_KEPT_LENGTH) throw new Error('an answer is longer than any model writes');
  }

  /** Ends all items that are open. `status` is that of the last one, which is where an answer is cut. */
  #close(status: 'completed' | 'incomplete'): string {
    const last = this.#count - 1;
    let events = this.#closeText(this.#text?.index === last ? status : 'completed');
    for (const item of this.#calls.values())
      events += this.#closeCall(item, item.index === last ? status : 'completed');
    this.#calls.clear();
    return events;
  }

  #closeText(status: 'completed' | 'incomplete'): string {
    const item = this.#text;
    if (!item?.textType) return '';
    this.#text = undefined;
    const { textType } = item;
    const text = textOf(item);
    const done = textType === 'refusal' ? { refusal: text } : { text };
    const logprobs = textType === 'output_text' ? { logprobs: [] } : {};
    const events = this.#event(`response.${textType}.done`, { ...toPlace(item), ...done, ...logprobs });
    const part = this.#event('response.content_part.done', { ...toPlace(item), part: toPart(textType, text) });
    return `${events}${part}${this.#done(item, status, toTextFields(textType, text))}`;
  }

  #closeCall(item: OpenItem, status: 'completed' | 'incomplete'): string {
    const text = textOf(item);
    const place = { item_id: item.id, output_index: item.index };
    const fields = { ...place, name: item.call?.name, arguments: text };
    const events = this.#event('response.function_call_arguments.done', fields);
    return `${events}${this.#done(item, status, { ...item.call, arguments: text })}`;
  }

  #done({ index, id, type }: OpenItem, status: 'completed' | 'incomplete', fields: object): string {
    const item: OutputItem = { type, id, status, ...fields };
    this.#output[index] = item;
    return this.#event('response.output_item.done', { output_index: index, item });
  }

  #number(): number {
    this.#sequence += 1;
    return this.#sequence - 1;
  }

  #event(type: string, fields: object): string {
    const data = { type, sequence_number: this.#number(), ...fields };
    return `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
  }
}

const toFailureCode = (status: number): string =>
  status === 429 ? 'rate_limit_exceeded' : status < 500 ? 'invalid_prompt' : 'server_error';

export const RESPONSE_EVENTS: ChunkShape<ChatDelta> = {
  ...CHAT_DELTAS,
  createEncoder: (terms) => new ResponseEncoder(terms),
};
