import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aMutatedStream } from '../../../test/aMutatedStream.ts';
import { checkClientStream } from '../../../test/checkClientStream.ts';
import { engineChunks } from '../../../test/engineChunks.ts';
import { toInferenceError } from '../../api/inferenceError.ts';
import type { EngineFault } from '../../api/inferenceFault.ts';
import { vllm } from '../../engines/vllm/vllm.ts';
import { CHAT_CHUNKS } from '../operations/chat.ts';
import { EngineStream, type StreamEnd } from './engineStream.ts';
import type { ChunkShape, StreamEncoder } from './streamEncoder.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

interface ReadStream {
  /** The client's text, `[DONE]` or the error event included. */
  text: string;
  /** Undefined where the engine's bytes ended and the stream had not. */
  end: StreamEnd | undefined;
}

const aStream = ({ isToolForced = false, includeUsage = false } = {}): EngineStream => {
  const terms = { callId: 'call-1', canonicalModel: 'small-chat', isCacheCapable: true, chargeOf: () => 2_010n };
  return new EngineStream({
    ...terms,
    engine: { repeatsCallIds: true },
    shape: CHAT_CHUNKS as ChunkShape,
    encoder: CHAT_CHUNKS.createEncoder({ ...terms, includeUsage }) as StreamEncoder,
    isToolForced,
    toFault: (status, text) => vllm.toFault(status, text, { cacheSalt: 'salt' }),
  });
};

/** Reads an engine's bytes in these pieces as an attempt does: up to its end, or to theirs. */
function read(pieces: Buffer[], options?: Parameters<typeof aStream>[0]): ReadStream {
  const stream = aStream(options);
  let text = '';
  for (const piece of pieces) {
    const step = stream.push(piece);
    text += Buffer.concat(step?.events ?? []).toString('utf8');
    if (step?.end) return { text: text + lastEventsOf(step.end), end: step.end };
  }
  return { text: text + errorEvent, end: undefined };
}

const errorEventOf = (fault: EngineFault) =>
  `data: ${JSON.stringify(toInferenceError(fault, { keysPageUrl: '' }).body)}\n\n`;
const errorEvent = errorEventOf({ kind: 'engine_failed' });
function lastEventsOf(end: StreamEnd): string {
  if (end.kind === 'failed') return errorEventOf(end.fault);
  if (end.kind === 'unshowable') return errorEvent;
  return end.usage ? String(end.lastEvents) : errorEvent;
}

describe('whatever an engine sends, and however its bytes are cut', () => {
  it('the client gets a well-formed stream that ends in [DONE] or in one error event, and only a counted one is whole', () => {
    fc.assert(
      fc.property(aMutatedStream, fc.boolean(), fc.boolean(), ({ pieces }, isToolForced, includeUsage) => {
        const { text, end } = read(pieces, { isToolForced, includeUsage });
        const checked = checkClientStream(Buffer.from(text));
        const isCounted = end?.kind === 'whole' && end.usage !== undefined;
        expect(checked.end).toBe(isCounted ? 'done' : 'error');
        if (!isCounted) return;
        expect(end.usage?.promptTokens).toBeGreaterThanOrEqual(0);
        expect(end.usage?.completionTokens).toBeGreaterThanOrEqual(0);
        expect(checked.chunks.filter(({ usage }) => usage).length).toBe(includeUsage ? 1 : 0);
        if (isToolForced) expect(text).toContain('"tool_calls":[');
      }),
      { numRuns: 3_000 },
    );
  });

  it('the client gets the same as from the same bytes in one piece', () => {
    fc.assert(
      fc.property(aMutatedStream, fc.boolean(), ({ pieces }, isToolForced) => {
        // Removes ids, because those that are made up differ from one reading to the other.
        const withoutIds = ({ text }: ReadStream) =>
          text.replaceAll(/call_[0-9a-f]{24}|chatcmpl-[0-9a-f-]{36}|"created":\d+/g, 'invented');
        const options = { isToolForced };
        const [cut, whole] = [read(pieces, options), read([Buffer.concat(pieces)], options)];
        expect(withoutIds(cut)).toBe(withoutIds(whole));
      }),
      { numRuns: 1_000 },
    );
  });
});

it.each<[string, string, Partial<StreamEnd>]>([
  ['says it is done without a finish reason', 'data: [DONE]\n\n', { reason: 'engine_did_not_finish' }],
  ['sends no JSON', 'data: <html>\n\n', { reason: 'engine_sent_nonsense' }],
  ['counts below zero', engineChunks.ending(-5), { reason: 'engine_sent_nonsense' }],
  ['gives an error', 'data: {"error":{"message":"m"}}\n\n', { reason: 'engine_error_event' }],
  [
    'sends an event without end',
    `data: ${'x'.repeat(5_000_000)}`,
    { reason: 'engine_event_too_large', broken: 'reset' },
  ],
])('shows what came before, and fails, when an engine %s', (_case, bytes, end) => {
  const first = read([Buffer.from(engineChunks.text('Hi')), Buffer.from(bytes)]);
  expect(first.end).toMatchObject({ kind: 'failed', fault: { kind: 'engine_failed' }, ...end });
  expect(first.text).toContain('"content":"Hi"');
});

it('knows the field that an engine refuses only once its stream has begun', () => {
  const error = {
    message: 'logit_bias has ids out of the vocabulary',
    type: 'BadRequestError',
    param: 'logit_bias',
    code: 400,
  };
  const { end } = read([Buffer.from(`data: ${JSON.stringify({ error })}\n\ndata: [DONE]\n\n`)]);
  const fault = { kind: 'engine_refused', message: error.message, param: 'logit_bias' };
  expect(end).toEqual({ kind: 'failed', fault, reason: 'engine_error_event' });
});

it('has no count of a stream that was not counted, and may not be handed out as whole', () => {
  const finish = JSON.stringify({ choices: [{ index: 0, delta: { content: 'x' }, finish_reason: 'stop' }] });
  const { end } = read([Buffer.from(`data: ${finish}\n\ndata: [DONE]\n\n`)], { includeUsage: true });
  expect(end).toMatchObject({ kind: 'whole', usage: undefined });
});

interface EngineChoice {
  delta?: unknown;
  finish_reason?: unknown;
}
/** A stream's events, each a choice and the completion tokens that the engine counted up to there; then `[DONE]`. */
const aStreamOf = (...chunks: [choice: EngineChoice, tokens?: number | object][]): string => {
  const events = chunks.map(([choice, tokens]) => ({
    choices: [{ index: 0, ...choice }],
    usage: typeof tokens === 'number' ? { prompt_tokens: 9, completion_tokens: tokens } : tokens,
  }));
  return `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`;
};
const say = (content: unknown, reason?: unknown): EngineChoice => ({ delta: { content }, finish_reason: reason });
const end = (reason: unknown = 'stop', delta: unknown = {}): EngineChoice => ({ delta, finish_reason: reason });
const tgiCall = (name: string, text: string) => ({
  delta: { role: 'assistant', tool_calls: { index: 0, id: '', type: 'function', function: { name, arguments: text } } },
  finish_reason: null,
});
const WHOLE = { content: 'Hello you all', finish: 'stop', tokens: 3 };

it.each<[string, string, object]>([
  ['"" until the last', aStreamOf([say('Hello', '')], [say(' you', '')], [say(' all', '')], [end(), 3]), WHOLE],
  ['"" in a chunk of its own last', aStreamOf([say('Hello you all')], [end(), 3], [end(''), 3]), WHOLE],
  ['"none" until the last', aStreamOf([say('Hello', 'none')], [say(' you all', 'none')], [end(), 3]), WHOLE],
  ['"none" until a length', aStreamOf([say('Hello', 'none')], [end('length'), 1]), { finish: 'length', tokens: 1 }],
  ['a reason that nobody knows', aStreamOf([say('Hello you all')], [end('eos_token'), 3]), WHOLE],
  ['a reason before the last text', aStreamOf([say('Hello')], [say(' you', 'stop')], [say(' all', null), 3]), WHOLE],
  ['a reason in its first chunk', aStreamOf([say('Hello', 'stop')], [say(' you')], [say(' all'), 3]), WHOLE],
  ['its reason twice', aStreamOf([say('Hello you all')], [end(), 3], [end(), 3]), WHOLE],
  ['its reason twice, and one count', aStreamOf([say('Hello you all')], [end(), 3], [end()]), WHOLE],
  [
    'its last text twice with a reason',
    aStreamOf([say('Hello')], [say(' you', 'stop')], [say(' all', 'stop'), 3]),
    WHOLE,
  ],
  ['an empty usage until the last', aStreamOf([say('Hello you all'), {}], [end(), {}], [end(), 3]), WHOLE],
  ['a null usage until the last', aStreamOf([say('Hello you all')], [end(), 3]).replaceAll('{}', 'null'), WHOLE],
  ['a null delta last', aStreamOf([say('Hello you all')], [end('stop', null), 3]), WHOLE],
  ['text behind [DONE]', aStreamOf([say('Hello you all')], [end(), 3]) + aStreamOf([say('more')]), WHOLE],
  [
    'reasoning behind a reason',
    aStreamOf([say('Hello', 'stop')], [{ delta: { reasoning: 'hm' } }], [end(), 3]),
    { content: 'Hello', reasoning: 'hm', finish: 'stop', tokens: 3 },
  ],
  [
    'a tool call behind a reason',
    aStreamOf([say('Hello', 'stop')], [tgiCall('look_up', '{}')], [end(), 3]),
    { content: 'Hello', calls: ['look_up', '{}'], finish: 'tool_calls', tokens: 3 },
  ],
  [
    'tool calls that are no list',
    aStreamOf([tgiCall('look_up', '')], [tgiCall('look_up', '{"city":')], [tgiCall('', '"Bonn"}')], [end(), 3]),
    { calls: ['look_up', '{"city":"Bonn"}'], finish: 'tool_calls', tokens: 3 },
  ],
])('passes on all that an engine says, and counts it, where it gives %s', (_case, bytes, expected) => {
  for (const pieces of [[Buffer.from(bytes)], [...Buffer.from(bytes)].map((byte) => Buffer.of(byte))]) {
    const { text, end: ended } = read(pieces, { includeUsage: true });
    const { end: shownEnd, chunks } = checkClientStream(Buffer.from(text));
    const deltas = chunks.flatMap(({ choices }) => choices[0]?.delta ?? []);
    const calls = deltas.flatMap(({ tool_calls: some = [] }) => some.map((call) => call.function));
    expect(shownEnd).toBe('done');
    expect({
      content: deltas.map(({ content }) => content ?? '').join(''),
      reasoning: deltas.map(({ reasoning }) => reasoning ?? '').join(''),
      calls: calls.length > 0 && [calls[0]?.name, calls.map((call) => call?.arguments ?? '').join('')],
      finish: chunks.flatMap(({ choices }) => choices[0]?.finish_reason ?? []).join(),
      tokens: chunks.at(-1)?.usage?.completion_tokens,
    }).toMatchObject(expected);
    expect(ended).toMatchObject({ kind: 'whole', usage: { promptTokens: 9 } });
  }
});

it.each<[string, string]>([
  ['no reason at all', aStreamOf([say('Hello', '')], [say(' you'), 2])],
  ['no [DONE]', aStreamOf([say('Hello')], [end(), 2]).replace('data: [DONE]\n\n', '')],
  ['a reason that is no text', aStreamOf([say('Hello')], [end(7), 2])],
  ['an abort behind its reason', aStreamOf([say('Hello')], [end(), 2], [end('abort'), 2])],
  ['what is no choice behind its reason', aStreamOf([say('Hello')], [end(), 2], [say(['you']), 2])],
  ['an error behind its reason', aStreamOf([say('Hello', 'stop')]).replace('[DONE]', '{"error":{"message":"m"}}')],
  ['text that is a list', aStreamOf([say('Hello')], [say([{ type: 'text', text: ' you' }])], [end(), 2])],
  ['reasoning that is an object', aStreamOf([say('Hello')], [{ delta: { reasoning: { text: 'hm' } } }], [end(), 2])],
  ['tool calls that are a text', aStreamOf([say('Hello')], [{ delta: { tool_calls: 'look_up' } }], [end(), 2])],
  ['no count', aStreamOf([say('Hello')], [end()])],
  ['an empty count', aStreamOf([say('Hello'), {}], [end(), {}])],
  ['text behind its last count', aStreamOf([say('Hello')], [end(), 2], [say(' you')])],
])('ends in an error event, and charges nothing, where an engine gives %s', (_case, bytes) => {
  const { text, end: ended } = read([Buffer.from(bytes)], { includeUsage: true });
  expect(checkClientStream(Buffer.from(text)).end).toBe('error');
  expect(ended?.kind === 'whole' ? ended.usage : undefined).toBeUndefined();
});

it('takes no running count from an engine that miscounts', () => {
  const stream = aStream();
  for (const count of [1, 2, -5]) stream.push(Buffer.from(engineChunks.text('x', count)));
  expect(stream.usage).toBeUndefined();
});

it('reads nothing after [DONE]', () => {
  const bytes = Buffer.from(`${engineChunks.ending(3)}data: <html>\n\ndata: [DONE]\n\n`);
  expect(read([bytes]).end).toMatchObject({ kind: 'whole', usage: { completionTokens: 3 } });
});

describe('where a tool has to be called', () => {
  it('all is held back until it is called, and comes in its order then', () => {
    const pieces = [engineChunks.text('Let me see.'), engineChunks.toolCall('look_up'), engineChunks.ending(5)];
    const stream = aStream({ isToolForced: true });
    const [held, called, ended] = pieces.map((piece) => stream.push(Buffer.from(piece)));
    expect(held).toEqual({ events: [], end: undefined });
    expect(String(Buffer.concat(called?.events ?? []))).toMatch(/Let me see\..*look_up/s);
    if (ended?.end?.kind !== 'whole') throw new Error('not whole');
    expect(String(ended.end.lastEvents)).toContain('"finish_reason":"tool_calls"');
  });

  it('a model may think for twenty thousand tokens before it calls it', () => {
    const thought = 'data: {"choices":[{"index":0,"delta":{"reasoning":" hmm"},"finish_reason":null}]}\n\n';
    const bytes = thought.repeat(20_000) + engineChunks.toolCall('look_up') + engineChunks.ending(5);
    const { text, end } = read([Buffer.from(bytes)], { isToolForced: true });
    expect(end).toMatchObject({ kind: 'whole' });
    const { chunks } = checkClientStream(Buffer.from(text));
    expect(chunks[0]?.choices[0]?.delta.reasoning).toBe(' hmm'.repeat(20_000));
  });

  it.each([
    ['its engine ends', engineChunks.ending(5)],
    ['1 MiB else has come', engineChunks.text('x'.repeat(65_536)).repeat(17)],
  ])('it is refused, and nothing shown, when %s without a call', (_case, bytes) => {
    const { text, end } = read([Buffer.from(bytes)], { isToolForced: true });
    expect(end).toMatchObject({ kind: 'failed', fault: { kind: 'forced_tool_not_called' } });
    expect(checkClientStream(Buffer.from(text)).chunks).toEqual([]);
  });
});
