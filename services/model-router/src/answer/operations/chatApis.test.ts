import { describe, expect, it } from '@jest/globals';
import { envelope, invalid, throttled, unavailable } from '@turnpike/public-api/wireError';
import fc from 'fast-check';
import { aMutatedStream } from '../../../test/aMutatedStream.ts';
import { EngineStream } from '../chunks/engineStream.ts';
import type { ChunkShape, StreamEncoder } from '../chunks/streamEncoder.ts';
import { CHAT_CHUNKS, editChatAnswer } from './chat.ts';
import { editMessage, MESSAGE_EVENTS } from './messages.ts';
import { editResponse, RESPONSE_EVENTS } from './responses.ts';

// The same answer of an engine in three APIs: what the model said, thought and called is the same, byte for byte.

fc.configureGlobal({ seed: 20_261_128 });

const terms = {
  callId: '01a2215e-9c25-7db9-9505-1316320a761c',
  canonicalModel: 'small-chat',
  isCacheCapable: true,
  chargeOf: () => 2_010n,
};

interface Answer {
  content: string;
  reasoning: string;
  calls: { id: string; name: string; arguments: string }[];
}

interface ReadStream {
  text: string;
  kind: string;
}

/** Reads an engine's bytes into a client's, as an attempt does. */
function read(pieces: Buffer[], shape: ChunkShape): ReadStream {
  const encoder = shape.createEncoder({ ...terms, includeUsage: true });
  const stream = new EngineStream({
    callId: terms.callId,
    engine: { repeatsCallIds: false },
    shape,
    encoder,
    isToolForced: false,
    toFault: () => ({ kind: 'engine_failed' }),
  });
  let text = '';
  for (const piece of pieces) {
    const step = stream.push(piece);
    text += Buffer.concat(step?.events ?? []).toString();
    if (step?.end?.kind === 'whole') return { text: text + String(step.end.lastEvents), kind: 'whole' };
    if (step?.end) return { text: text + encoder.fail(unavailable('no')), kind: step.end.kind };
  }
  return { text: text + encoder.fail(unavailable('no')), kind: 'cut' };
}

interface SentEvent {
  event: string | undefined;
  data: string;
}
function eventsOf(text: string): SentEvent[] {
  expect(text.endsWith('\n\n')).toBe(true);
  return text
    .slice(0, -2)
    .split('\n\n')
    .map((lines) => {
      const [, event, data] = /^(?:event: ([\w.]+)\n)?data: (.*)$/s.exec(lines) ?? [];
      if (data === undefined) throw new Error(`no event: ${lines}`);
      return { event, data };
    });
}

function readChat(text: string): Answer {
  const answer: Answer = { content: '', reasoning: '', calls: [] };
  for (const { data } of eventsOf(text)) {
    if (data === '[DONE]') continue;
    const { choices = [] } = JSON.parse(data) as { choices?: { delta: ChatDeltaBody }[] };
    const [{ delta } = { delta: {} }] = choices;
    answer.content += delta.content ?? '';
    answer.reasoning += delta.reasoning ?? '';
    for (const { index, id, function: named } of delta.tool_calls ?? []) {
      answer.calls[index] ??= { id: id ?? '', name: named.name ?? '', arguments: '' };
      (answer.calls[index] as Answer['calls'][number]).arguments += named.arguments ?? '';
    }
  }
  return answer;
}
interface ChatDeltaBody {
  content?: string | null;
  reasoning?: string;
  tool_calls?: { index: number; id?: string; function: { name?: string; arguments?: string } }[];
}

// biome-ignore lint/suspicious/noExplicitAny: events are read as a client without types reads them
type Event = Record<string, any>;

/** Reads a response's events, and checks their order: each item begins, goes on and ends, as its last event repeats it. */
function readResponse(text: string): Answer {
  const answer: Answer = { content: '', reasoning: '', calls: [] };
  const items: Event[] = [];
  const sent = eventsOf(text);
  const events = sent.map(({ data }) => JSON.parse(data) as Event);
  expect(sent.map(({ event }) => event)).toEqual(events.map(({ type }) => type));
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_event, index) => index));
  expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.in_progress']);
  for (const { type, output_index: at, item, delta, text: done, arguments: called, ...event } of events.slice(2, -1)) {
    const open = items[at];
    switch (type) {
      case 'response.output_item.added':
        expect(at).toBe(items.length);
        items.push({ ...item, text: '' });
        break;
      case 'response.output_text.delta':
      case 'response.reasoning_text.delta':
      case 'response.function_call_arguments.delta':
        expect(event.item_id).toBe(open?.id);
        if (open) open.text += delta;
        break;
      case 'response.output_text.done':
      case 'response.reasoning_text.done':
        expect(done).toBe(open?.text);
        break;
      case 'response.function_call_arguments.done':
        expect(called).toBe(open?.text);
        break;
      case 'response.output_item.done':
        if (item.type === 'function_call') expect(item.arguments).toBe(open?.text);
        else expect(item.content).toMatchObject([{ text: open?.text }]);
        if (item.type === 'message') answer.content += item.content[0].text;
        if (item.type === 'reasoning') answer.reasoning += item.content[0].text;
        items[at] = { ...item, isDone: true };
        break;
      case 'response.content_part.added':
      case 'response.content_part.done':
        break;
      default:
        throw new Error(`an event of a kind that nobody knows: ${type}`);
    }
  }
  expect(items.every(({ isDone }) => isDone)).toBe(true);
  answer.calls = items.flatMap(({ type, call_id: id, name, arguments: text }) =>
    type === 'function_call' ? [{ id, name, arguments: text }] : [],
  );
  const { type, response } = events.at(-1) as Event;
  expect(type).toBe(`response.${response.status}`);
  expect(response.output).toEqual(items.map(({ isDone: _isDone, ...item }) => item));
  return answer;
}

/** Reads a message's events, and checks their order: each block begins, goes on and ends. */
function readMessage(text: string): Answer {
  const answer: Answer = { content: '', reasoning: '', calls: [] };
  const sent = eventsOf(text);
  const events = sent.map(({ data }) => JSON.parse(data) as Event);
  expect(sent.map(({ event }) => event)).toEqual(events.map(({ type }) => type));
  const open = new Map<number, { type: string; call: Answer['calls'][number] }>();
  const ended: (Answer['calls'][number] | undefined)[] = [];
  let begun = 0;
  for (const [place, { type, index, content_block: block, delta }] of events.entries()) {
    if (type === 'error') expect(place).toBe(events.length - 1);
    if (type === 'message_start') expect(place).toBe(0);
    if (type === 'content_block_start') {
      expect(index).toBe(begun);
      // Clients take the latest block for the one that is written.
      expect(open.size).toBe(0);
      begun += 1;
      const call = { id: block.id, name: block.name, arguments: '' };
      if (block.type === 'tool_use') answer.calls.push(call);
      open.set(index, { type: block.type, call });
    }
    if (type === 'content_block_delta') {
      const of = open.get(index) ?? { call: ended[index] };
      // A model may write on behind the end of a call's object, when another block is open.
      if (!open.has(index)) expect(of.call?.arguments).toMatch(/^\{.*\}/s);
      if (delta.type === 'text_delta') answer.content += delta.text;
      if (delta.type === 'thinking_delta') answer.reasoning += delta.thinking;
      if (delta.type === 'input_json_delta' && of.call) of.call.arguments += delta.partial_json;
    }
    if (type === 'content_block_stop') {
      ended[index] = open.get(index)?.call;
      expect(open.delete(index)).toBe(true);
    }
    if (type === 'message_delta') expect(open.size).toBe(0);
  }
  return answer;
}

describe('whatever an engine sends, and however its bytes are cut', () => {
  it('each API has the same words, thoughts and calls, in whole events in their order, and ends in one way', () => {
    fc.assert(
      fc.property(aMutatedStream, ({ pieces }) => {
        const chat = read(pieces, CHAT_CHUNKS as ChunkShape);
        const response = read(pieces, RESPONSE_EVENTS as ChunkShape);
        const message = read(pieces, MESSAGE_EVENTS as ChunkShape);
        const said = withoutMadeUpIds(readChat(chat.text));
        const isWhole = chat.kind === 'whole';
        expect([response, message].map(({ kind }) => kind === 'whole')).toEqual([isWhole, isWhole]);
        for (const answer of [readResponse(response.text), readMessage(message.text)])
          if (isWhole) expect(withoutMadeUpIds(answer)).toEqual(said);
          // A bad count shows where a chunk is parsed: a chat's plain text is copied, and may go on for longer.
          else expect([said.content, said.reasoning]).toEqual(startingWith(answer));
        expect(/event: response\.(completed|incomplete)\n/.test(response.text)).toBe(isWhole);
        expect(response.text.includes('event: response.failed\n')).toBe(!isWhole);
        expect(message.text.endsWith('event: message_stop\ndata: {"type":"message_stop"}\n\n')).toBe(isWhole);
        expect(message.text.includes('event: error\n')).toBe(!isWhole);
      }),
      { numRuns: process.env.TURNPIKE_TEST_RUN === 'all' ? 10_000 : 1_000 },
    );
  });
});

const startingWith = ({ content, reasoning }: Answer) =>
  [content, reasoning].map((text) => expect.stringMatching(startOf(text)));
const startOf = (text: string): RegExp => new RegExp(`^${text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')}`);

/** Calls in the order of their names, as one without a name waits. An id that the engine left out is made up each time. */
const withoutMadeUpIds = ({ calls, ...answer }: Answer): Answer => ({
  ...answer,
  calls: calls
    .filter((call) => call !== undefined)
    .map((call) => ({ ...call, id: call.id.startsWith('call_') ? 'made up' : call.id }))
    .toSorted((a, b) => a.name.localeCompare(b.name)),
});

const event = (choice: object, usage?: object): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', created: 1_790_000_000, choices: [{ index: 0, ...choice }], usage })}\n\n`;
const counted = { prompt_tokens: 9, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 4 } };

describe('how a stream ended', () => {
  const endOf = (shape: unknown, choice: object) => {
    const { text } = read(
      [Buffer.from(`${event({ delta: { content: 'x' } })}${event({ delta: {}, ...choice }, counted)}data: [DONE]\n\n`)],
      shape as ChunkShape,
    );
    return eventsOf(text).map(({ data }) => JSON.parse(data) as Event);
  };

  it.each([
    ['stop', 'completed', null],
    ['length', 'incomplete', { reason: 'max_output_tokens' }],
    ['content_filter', 'incomplete', { reason: 'content_filter' }],
  ])('%s is told by the Responses API as %s', (finish_reason, status, incomplete_details) => {
    expect(endOf(RESPONSE_EVENTS, { finish_reason }).at(-1)).toMatchObject({
      response: {
        status,
        incomplete_details,
        usage: { input_tokens: 9, input_tokens_details: { cached_tokens: 4 }, output_tokens: 3, total_tokens: 12 },
      },
    });
  });

  it.each([
    [{ finish_reason: 'stop' }, { stop_reason: 'end_turn', stop_sequence: null }],
    [
      { finish_reason: 'stop', stop_reason: 'END' },
      { stop_reason: 'stop_sequence', stop_sequence: 'END' },
    ],
    [{ finish_reason: 'length' }, { stop_reason: 'max_tokens', stop_sequence: null }],
    [{ finish_reason: 'content_filter' }, { stop_reason: 'refusal', stop_sequence: null }],
  ])('%j is told by the Messages API as %j', (choice, delta) => {
    expect(endOf(MESSAGE_EVENTS, choice).at(-2)).toEqual({
      type: 'message_delta',
      delta,
      usage: {
        input_tokens: 5,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 4,
        output_tokens: 3,
        cost: 0.00000201,
      },
    });
  });
});

it('a response that fails midway is the one that began: its id, its time and its model', () => {
  const { text } = read([Buffer.from(event({ delta: { content: 'x' } }))], RESPONSE_EVENTS);
  const responses = eventsOf(text).flatMap(({ data }) => (JSON.parse(data) as Event).response ?? []) as Event[];
  const [created, ...others] = responses.map(({ id, created_at, model }) => ({ id, created_at, model }));
  expect(created).toMatchObject({ created_at: 1_790_000_000, model: 'small-chat' });
  expect(others).toEqual([created, created]);
});

describe('a fault before any event', () => {
  const failed = (
    shape: { createEncoder: (given: typeof terms & { includeUsage: boolean }) => StreamEncoder<never> },
    error = throttled('Slow down.', {}),
  ) => eventsOf(shape.createEncoder({ ...terms, includeUsage: true }).fail(error));

  it('begins the response that fails', () => {
    expect(failed(RESPONSE_EVENTS).map(({ event: type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.failed',
    ]);
  });

  it.each([
    [throttled('Slow down.', {}), 'rate_limit_exceeded'],
    [
      envelope(400, { message: 'Too long.', type: null, param: null, code: 'context_length_exceeded' }),
      'context_length_exceeded',
    ],
    [invalid('No.'), 'invalid_prompt'],
    [unavailable('Later.'), 'server_error'],
  ])('has the code that clients of the Responses API act by: %j is %s', (error, code) => {
    const { response } = JSON.parse(failed(RESPONSE_EVENTS, error).at(-1)?.data ?? '') as Event;
    expect(response).toMatchObject({ status: 'failed', error: { code } });
  });

  it('is an error event of the Messages API', () => {
    expect(failed(MESSAGE_EVENTS).map(({ data }) => JSON.parse(data) as unknown)).toEqual([
      { type: 'error', error: { type: 'rate_limit_error', message: 'Slow down.', code: 'rate_limit_exceeded' } },
    ]);
  });
});

describe('a whole answer', () => {
  const answer = (choice: object) =>
    Buffer.from(JSON.stringify({ id: 'chatcmpl-1', created: 1_790_000_000, choices: [choice], usage: counted }));
  const options = { ...terms, engine: { repeatsCallIds: false } };
  const bodyOf = (edited: ReturnType<typeof editChatAnswer>): Event => {
    if (edited.kind !== 'answer') throw new Error(edited.kind);
    return JSON.parse(String(edited.payload)) as Event;
  };
  const call = { id: 'c1', type: 'function', function: { name: 'mcp__files__read', arguments: '{"path":"a"}' } };
  const message = { content: 'I look.', reasoning: 'A file.', tool_calls: [call] };
  const echo = {
    fields: { store: false },
    namespaced: new Map([['mcp__files__read', { namespace: 'mcp__files__', name: 'read' }]]),
  };

  it('is a response with an item for each part, its functions by the client’s own names', () => {
    expect(bodyOf(editResponse(answer({ message, finish_reason: 'stop' }), { ...options, echo }))).toMatchObject({
      object: 'response',
      status: 'completed',
      created_at: 1_790_000_000,
      store: false,
      output: [
        { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'A file.' }] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I look.', annotations: [] }] },
        { type: 'function_call', call_id: 'c1', namespace: 'mcp__files__', name: 'read', arguments: '{"path":"a"}' },
      ],
      usage: { input_tokens: 9, output_tokens: 3, cost: 0.00000201 },
    });
  });

  it('is a message with a block for each part', () => {
    expect(bodyOf(editMessage(answer({ message, finish_reason: 'tool_calls' }), options))).toMatchObject({
      type: 'message',
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'A file.', signature: 'unsigned' },
        { type: 'text', text: 'I look.' },
        { type: 'tool_use', id: 'c1', name: 'mcp__files__read', input: { path: 'a' } },
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 5, cache_read_input_tokens: 4, output_tokens: 3 },
    });
  });

  it.each([
    '{"id":1234567890123456789,"ratio":1.0,"far":1e400,"near":-0,"":10000000000000000001,"list":[0.1000]}',
    '{"rawJSON":"1","__proto__":{"a":90071992547409931}}',
  ])('is a message whose input has the digits that the model wrote: %s', (text) => {
    const called = { ...call, function: { name: 'f', arguments: text } };
    const edited = editMessage(answer({ message: { tool_calls: [called] }, finish_reason: 'tool_calls' }), options);
    expect(edited).toMatchObject({ kind: 'answer', payload: expect.stringContaining(`"input":${text}}`) });
  });

  it.each(['7', 'null', '[1]', '"a"'])('is a message with %s as a text where that is the whole input', (text) => {
    const called = { ...call, function: { name: 'f', arguments: text } };
    const edited = editMessage(answer({ message: { tool_calls: [called] }, finish_reason: 'tool_calls' }), options);
    expect(bodyOf(edited)).toMatchObject({ content: [{ input: { arguments: text } }] });
  });

  it('that was cut within a call shows the call as it came', () => {
    const cut = { ...call, function: { name: 'f', arguments: '{"path":"a' } };
    const body = bodyOf(editMessage(answer({ message: { tool_calls: [cut] }, finish_reason: 'length' }), options));
    expect(body).toMatchObject({ content: [{ input: { arguments: '{"path":"a' } }], stop_reason: 'max_tokens' });
  });

  it.each([editResponse, editMessage])('that an engine did not count is not handed out', (edit) => {
    const uncounted = Buffer.from(JSON.stringify({ choices: [{ message, finish_reason: 'stop' }] }));
    expect(edit(uncounted, options)).toMatchObject({ kind: 'answer', payload: undefined });
  });

  it('of a wrong form is none', () => {
    for (const edit of [editChatAnswer, editResponse, editMessage])
      expect(edit(Buffer.from('[]'), options)).toEqual({ kind: 'broken' });
  });
});
