import Anthropic from '@anthropic-ai/sdk';
import { expect, it } from '@jest/globals';
import { unavailable } from '@turnpike/public-api/wireError';
import { searchOf } from '@turnpike/test-support/searchOf';
import fc from 'fast-check';
import OpenAI from 'openai';
import { EngineStream } from '../../services/model-router/src/answer/chunks/engineStream.ts';
import type { ChunkShape } from '../../services/model-router/src/answer/chunks/streamEncoder.ts';
import { MESSAGE_EVENTS } from '../../services/model-router/src/answer/operations/messages.ts';
import { RESPONSE_EVENTS } from '../../services/model-router/src/answer/operations/responses.ts';
import { aMutatedStream } from '../../services/model-router/test/aMutatedStream.ts';

// Streams of engines as the router writes them, read by the packages that each API comes with.

/** `SEARCH_RUNS` and `SEARCH_SEED` search for longer: a run takes up to 35 ms, most of it the packages' own. */
const RUNS = process.env.TURNPIKE_TEST_RUN === 'quick' ? 150 : 750;
const SEARCH = searchOf(Number(process.env.SEARCH_RUNS ?? RUNS));
/** A build is busy with other files as well. */
const TIMEOUT_MS = 600_000;

const SENTENCE = 'The model is not available right now.';
const CALL_ID = '01a2215e-9c25-7db9-9505-1316320a761c';

interface Said {
  content: string;
  reasoning: string;
  refusal: string;
  calls: { name: string; arguments: string }[];
}
type TextField = Exclude<keyof Said, 'calls'>;
/** A piece of a text, or of the arguments of a call. */
type Piece = { field: TextField; text: string } | { call: number; name: string; id: string | undefined; text: string };

const aText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.constantFrom('', '\n\n', 'data: [DONE]', '"', '\\', '\u2028', '\0', '</think>', 'event: error\n', 'TEXTTEXT'),
);

/** Cuts a text at some places. */
function toPieces(text: string, places: number[]): string[] {
  const edges = [0, ...places.map((place) => place % (text.length + 1)).sort((a, b) => a - b), text.length];
  return edges.slice(1).map((edge, index) => text.slice(edges[index], edge));
}
const places = fc.array(fc.nat(500), { maxLength: 4 });

const someTexts: fc.Arbitrary<Piece[]> = fc.array(
  fc.record({ field: fc.constantFrom<TextField>('content', 'content', 'reasoning', 'refusal'), text: aText }),
  { maxLength: 5 },
);
/** A call, whose arguments are JSON, as a sound model writes them. */
const aCall = fc.record({
  name: fc.constantFrom('f', 'look_up', 'mcp__files__read'),
  id: fc.constantFrom(undefined, 'a', 'b'),
  input: fc.oneof(fc.constant({}), fc.dictionary(aText, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })),
  space: fc.constantFrom(undefined, 2),
  places,
});

/** Pieces of texts and calls, one after the other or in turns. */
const somePieces: fc.Arbitrary<Piece[]> = fc
  .record({
    texts: fc.array(someTexts, { maxLength: 3 }),
    calls: fc.array(aCall, { maxLength: 3 }),
    turns: fc.array(fc.nat(9)),
  })
  .map(({ texts, calls, turns }) => {
    const called = calls.map(({ name, id, input, space, places: at }, call) =>
      toPieces(JSON.stringify(input, null, space), at).map((text): Piece => ({ call, name, id, text })),
    );
    const lines = [texts[0] ?? [], ...called, ...texts.slice(1)].filter(({ length }) => length > 0);
    const pieces: Piece[] = [];
    for (let turn = 0; lines.length > 0; turn += 1) {
      const place = (turns[turn] ?? 0) % lines.length;
      const line = lines[place] as Piece[];
      pieces.push(line.shift() as Piece);
      if (line.length === 0) lines.splice(place, 1);
    }
    return pieces;
  });

const event = (choice: object | undefined, usage: object | null): string => {
  const choices = choice ? [{ index: 0, finish_reason: null, ...choice }] : [];
  return `data: ${JSON.stringify({ id: 'chatcmpl-1', created: 1_790_000_000, choices, usage })}\n\n`;
};
const COUNTED = { prompt_tokens: 9, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 4 } };

function toEvent(piece: Piece, isFirst: boolean): string {
  if ('field' in piece) return event({ delta: { [piece.field]: piece.text } }, COUNTED);
  const { call: index, id, name, text } = piece;
  const named = isFirst ? { ...(id !== undefined && { id }), type: 'function' } : {};
  const tool_calls = [{ index, ...named, function: { ...(isFirst && { name }), arguments: text } }];
  return event({ delta: { tool_calls } }, COUNTED);
}

/** An engine's stream with what it says, as far as it comes. */
interface SoundStream {
  bytes: Buffer;
  said: Said;
  isWhole: boolean;
  finish: string;
}

/** Streams of a sound engine: whole, ended by an error, or broken off anywhere. */
const aSoundStream: fc.Arbitrary<SoundStream> = fc
  .record({
    pieces: somePieces,
    finish: fc.constantFrom('stop', 'stop', 'length', 'content_filter'),
    end: fc.constantFrom('whole', 'whole', 'whole', 'error', 'cut'),
    cutAt: fc.nat(5_000),
  })
  .map(({ pieces, finish, end, cutAt }) => {
    const opened: number[] = [];
    const said: Said = { content: '', reasoning: '', refusal: '', calls: [] };
    let text = '';
    let isCut = false;
    for (const piece of pieces) {
      const isFirst = 'call' in piece && !opened.includes(piece.call);
      if (isFirst) opened.push(piece.call);
      text += toEvent(piece, isFirst);
      isCut ||= end === 'cut' && cutAt < Buffer.byteLength(text);
      if (isCut) break;
      if ('field' in piece) said[piece.field] += piece.text;
      else {
        if (isFirst) said.calls.push({ name: piece.name, arguments: '' });
        (said.calls[opened.indexOf(piece.call)] as Said['calls'][number]).arguments += piece.text;
      }
    }
    if (end === 'error') text += 'data: {"error":{"message":"CUDA","code":500}}\n\n';
    if (end === 'whole') text += `${event({ delta: {}, finish_reason: finish }, COUNTED)}data: [DONE]\n\n`;
    const bytes = Buffer.from(text);
    return { said, finish, isWhole: end === 'whole', bytes: isCut ? bytes.subarray(0, cutAt) : bytes };
  });

/** Writes an engine's stream in the form of an API, as an attempt does. */
function write(pieces: readonly Buffer[], shape: ChunkShape): string {
  const terms = { callId: CALL_ID, canonicalModel: 'small', isCacheCapable: true, chargeOf: () => 2_010n };
  const encoder = shape.createEncoder({ ...terms, includeUsage: true });
  const stream = new EngineStream({
    callId: CALL_ID,
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
    if (step?.end?.kind === 'whole') return text + String(step.end.lastEvents);
    if (step?.end) break;
  }
  return text + encoder.fail(unavailable(SENTENCE));
}

/** The text of the stream that the clients' next call is answered with. */
let answer = '';
const access = {
  apiKey: 'sk',
  baseURL: 'http://127.0.0.1:9/v1',
  maxRetries: 0,
  fetch: async () => new Response(answer, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } }),
};
const openai = new OpenAI(access);
const anthropic = new Anthropic(access);

/** A stream as its client read it, with the end that the client was told of. */
interface Read extends Said {
  end: string | null;
}

async function readResponse(text: string): Promise<Read> {
  answer = text;
  const stream = openai.responses.stream({ model: 'small', input: 'hi' });
  const read: Said = { content: '', reasoning: '', refusal: '', calls: [] };
  const callAt: Said['calls'][number][] = [];
  for await (const next of stream) {
    if (next.type === 'response.output_text.delta') read.content += next.delta;
    if (next.type === 'response.reasoning_text.delta') read.reasoning += next.delta;
    if (next.type === 'response.refusal.delta') read.refusal += next.delta;
    if (next.type === 'response.output_item.added' && next.item.type === 'function_call') {
      const call = { name: next.item.name, arguments: '' };
      read.calls.push(call);
      callAt[next.output_index] = call;
    }
    if (next.type === 'response.function_call_arguments.delta')
      (callAt[next.output_index] as Said['calls'][number]).arguments += next.delta;
  }
  const response = await stream.finalResponse();
  // The whole says what its pieces said.
  const whole: Said = { content: response.output_text, reasoning: '', refusal: '', calls: [] };
  for (const item of response.output) {
    if (item.type === 'reasoning') whole.reasoning += (item.content ?? []).map((part) => part.text).join('');
    if (item.type === 'message')
      whole.refusal += item.content.map((part) => (part.type === 'refusal' ? part.refusal : '')).join('');
    if (item.type === 'function_call') whole.calls.push({ name: item.name, arguments: item.arguments });
  }
  expect(whole).toEqual(read);
  if (response.status === 'failed') expect(response.error).toEqual({ code: 'server_error', message: SENTENCE });
  return {
    ...read,
    end: response.status === 'incomplete' ? (response.incomplete_details?.reason ?? '') : (response.status ?? null),
  };
}

async function readMessage(text: string): Promise<Read> {
  answer = text;
  const stream = anthropic.messages.stream({
    model: 'small',
    max_tokens: 9,
    messages: [{ role: 'user', content: 'hi' }],
  });
  const read: Said = { content: '', reasoning: '', refusal: '', calls: [] };
  const callAt: Said['calls'][number][] = [];
  const ended: Anthropic.ContentBlock[] = [];
  stream.on('contentBlock', (block) => ended.push(block));
  try {
    for await (const next of stream) {
      if (next.type === 'content_block_start' && next.content_block.type === 'tool_use') {
        const call = { name: next.content_block.name, arguments: '' };
        read.calls.push(call);
        callAt[next.index] = call;
      }
      if (next.type !== 'content_block_delta') continue;
      const { delta } = next;
      if (delta.type === 'text_delta') read.content += delta.text;
      if (delta.type === 'thinking_delta') read.reasoning += delta.thinking;
      if (delta.type === 'input_json_delta')
        (callAt[next.index] as Said['calls'][number]).arguments += delta.partial_json;
    }
  } catch (error) {
    if (!(error instanceof Anthropic.APIError)) {
      // The package does not read the input of a call that is no JSON.
      if (error instanceof Anthropic.AnthropicError && !read.calls.every((call) => isInput(call.arguments)))
        return { ...read, end: 'no JSON' };
      throw error;
    }
    expect(error.error).toMatchObject({ type: 'error', error: { message: SENTENCE } });
    return { ...read, end: 'failed' };
  }
  const message = await stream.finalMessage();
  // The package throws where an input is read that is no JSON.
  if (!read.calls.every((call) => isInput(call.arguments))) return { ...read, end: message.stop_reason };
  // The whole says what its pieces said, and each block ended as it is in the whole.
  const whole: Said = { content: '', reasoning: '', refusal: '', calls: [] };
  for (const block of message.content) {
    if (block.type === 'text') whole.content += block.text;
    if (block.type === 'thinking') whole.reasoning += block.thinking;
    if (block.type === 'tool_use') whole.calls.push({ name: block.name, arguments: JSON.stringify(block.input) });
  }
  const calls = read.calls.map((call) => ({ ...call, arguments: JSON.stringify(JSON.parse(call.arguments || '{}')) }));
  expect(whole).toEqual({ ...read, calls });
  expect(ended).toEqual(message.content);
  return { ...read, end: message.stop_reason };
}

/** Whether arguments can be read as a call's input: none stand for an empty object. */
function isInput(text: string): boolean {
  try {
    JSON.parse(text || '{}');
    return true;
  } catch {
    return false;
  }
}

/** Pieces of a stream, cut at some places. */
const cutAt = (bytes: Buffer, at: number[]): Buffer[] => {
  const edges = [0, ...at.filter((edge) => edge < bytes.length).sort((a, b) => a - b), bytes.length];
  return edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
};

const RESPONSE_ENDS: Readonly<Record<string, string>> = {
  stop: 'completed',
  length: 'max_output_tokens',
  content_filter: 'content_filter',
};
const MESSAGE_ENDS: Readonly<Record<string, string>> = { length: 'max_tokens', content_filter: 'refusal' };

it(
  'the SDK of each API reads what an engine says, byte for byte, and why it ends',
  async () => {
    await fc.assert(
      fc.asyncProperty(aSoundStream, fc.array(fc.nat(4_000), { maxLength: 6 }), async (stream, edges) => {
        const { bytes, said, isWhole, finish } = stream;
        const pieces = cutAt(bytes, edges);
        const response = await readResponse(write(pieces, RESPONSE_EVENTS as ChunkShape));
        expect(response).toEqual({ ...said, end: isWhole ? RESPONSE_ENDS[finish] : 'failed' });

        const message = await readMessage(write(pieces, MESSAGE_EVENTS as ChunkShape));
        const stop = said.calls.length > 0 ? 'tool_use' : 'end_turn';
        // A refusal is a text of the Messages API.
        expect([...message.content].sort()).toEqual([...(said.content + said.refusal)].sort());
        expect(message).toEqual({
          ...said,
          content: said.refusal === '' ? said.content : message.content,
          refusal: '',
          end: isWhole ? (MESSAGE_ENDS[finish] ?? stop) : 'failed',
        });
      }),
      SEARCH,
    );
  },
  TIMEOUT_MS,
);

it(
  'the SDK of each API reads the stream of an engine that lies to its end',
  async () => {
    await fc.assert(
      fc.asyncProperty(aMutatedStream, async ({ pieces }) => {
        const response = await readResponse(write(pieces, RESPONSE_EVENTS as ChunkShape));
        expect(response.end).not.toBe('in_progress');
        const message = await readMessage(write(pieces, MESSAGE_EVENTS as ChunkShape));
        expect(message.end).not.toBeNull();
      }),
      SEARCH,
    );
  },
  TIMEOUT_MS,
);
