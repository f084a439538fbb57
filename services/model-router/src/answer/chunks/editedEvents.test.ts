import { isUtf8 } from 'node:buffer';
import { describe, expect, it } from '@jest/globals';
import { aCharacter } from '@turnpike/test-support/aCharacter';
import fc from 'fast-check';
import type { EngineUsage } from '../../money/call/openCalls.ts';
import { CHAT_CHUNKS } from '../operations/chat.ts';
import { EngineStream, type StreamEnd } from './engineStream.ts';
import type { ChunkShape, StreamEncoder } from './streamEncoder.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

const anEditor = ({ includeUsage = false, isCacheCapable = true } = {}): EngineStream => {
  const chargeOf = ({ completionTokens }: EngineUsage) => BigInt(completionTokens) * 100n;
  const terms = { callId: 'call-1', canonicalModel: 'small-chat', isCacheCapable, chargeOf };
  const encoder = CHAT_CHUNKS.createEncoder({ ...terms, includeUsage });
  return new EngineStream({
    ...terms,
    engine: { repeatsCallIds: true },
    shape: CHAT_CHUNKS as ChunkShape,
    encoder: encoder as StreamEncoder,
    isToolForced: false,
    toFault: (status, body) => ({ kind: 'engine_refused', message: `${status} ${body}`, param: null }),
  });
};

interface Delta {
  [field: string]: unknown;
}

/** A chunk as an engine writes it; `fields` replace or add members. */
const aChunk = (delta: Delta, fields: object = {}, choice: object = {}): object => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_790_000_000,
  model: 'engine-name',
  choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...choice }],
  ...fields,
});
const usageOf = (
  promptTokens: number,
  completionTokens: number,
  cachedTokens?: number,
  reasoningTokens?: number,
): object => ({
  prompt_tokens: promptTokens,
  total_tokens: promptTokens + completionTokens,
  completion_tokens: completionTokens,
  ...(cachedTokens !== undefined && { prompt_tokens_details: { cached_tokens: cachedTokens } }),
  ...(reasoningTokens !== undefined && { completion_tokens_details: { reasoning_tokens: reasoningTokens } }),
});
const aUsageChunk = (usage: object): object => ({ ...aChunk({}), choices: [], usage });

type Edited = ReturnType<EngineStream['edit']>;
const edit = (editor: EngineStream, chunk: object | string): Edited =>
  editor.edit(Buffer.from(typeof chunk === 'string' ? chunk : JSON.stringify(chunk)));

/** The JSON a client reads from an edited event, whose form is checked too. */
function shownBy(event: Edited): unknown {
  if (!Buffer.isBuffer(event)) throw new Error(`event is ${event?.kind}`);
  const text = event.toString();
  expect(text.startsWith('data: ')).toBe(true);
  expect(text.endsWith('\n\n')).toBe(true);
  expect(text.slice(6, -2)).not.toContain('\n');
  return JSON.parse(text.slice(6));
}

/** The end of a stream that is whole. */
function endOf(editor: EngineStream): Extract<StreamEnd, { kind: 'whole' }> {
  const end = edit(editor, '[DONE]');
  if (!end || !('kind' in end) || end.kind !== 'whole') throw new Error('the stream is not whole');
  return end;
}

/** The JSON of the events that a client gets last, before `[DONE]`. */
function lastShownBy(editor: EngineStream): unknown[] {
  const events = splitEvents(endOf(editor).lastEvents);
  expect(events.pop()?.toString()).toBe('data: [DONE]\n\n');
  return events.map(shownBy);
}
const splitEvents = (bytes: Buffer): Buffer[] =>
  bytes
    .toString()
    .match(/.+\n\n/g)
    ?.map((event) => Buffer.from(event)) ?? [];

/** Returns the specified events for a stream's chunks, written plainly: parsed, picked, written. Undefined for no event. */
function expectedEvents(includeUsage: boolean): (chunk: object) => object | undefined {
  let identity: object | undefined;
  let hasCall = false;
  let isFinished = false;
  return (chunk) => {
    const { id, created, choices } = JSON.parse(JSON.stringify(chunk));
    const [{ delta, finish_reason: finishReason }] = choices;
    const isFirst = identity === undefined;
    identity ??= { id, created };
    const { content, reasoning = delta.reasoning_content, tool_calls: calls } = delta;
    const text = calls?.[0].function.arguments;
    const call = hasCall ? { index: 0, function: { arguments: text } } : { ...calls?.[0] };
    const isCallShown = calls && !(hasCall && text === '');
    hasCall ||= calls !== undefined;
    isFinished ||= typeof finishReason === 'string';
    const shown = {
      ...(isFirst && { role: 'assistant' }),
      ...(content !== undefined && { content }),
      ...(reasoning !== undefined && { reasoning, reasoning_content: reasoning }),
      ...(isCallShown && { tool_calls: [call] }),
    };
    // A delta that says nothing is left out, and so are empty texts once the engine gave a reason.
    if (Object.values(shown).every((field) => isFinished && !field)) return undefined;
    return {
      ...identity,
      object: 'chat.completion.chunk',
      model: 'small-chat',
      choices: [{ index: 0, delta: shown, logprobs: null, finish_reason: null }],
      ...(includeUsage && { usage: null }),
    };
  };
}

const NONSENSE: StreamEnd = { kind: 'failed', fault: { kind: 'engine_failed' }, reason: 'engine_sent_nonsense' };

describe('an edited chunk is what parsing, picking and writing it anew would give', () => {
  const aText = fc.oneof(
    fc.string({ unit: aCharacter }),
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom(
      ',"usage":{',
      ',"usage":{"prompt_tokens":1}',
      '"},"logprobs":null,"finish_reason":null}]}',
      '{"content":"',
      '"delta":',
      '\\',
      '\\"',
      '\u0000',
      '\u2028',
      '\ud800',
      '[DONE]',
      '',
      'a',
    ),
  );
  const aDelta = fc.oneof(
    { weight: 6, arbitrary: aText.map((content): Delta => ({ content })) },
    { weight: 1, arbitrary: aText.map((reasoning): Delta => ({ reasoning })) },
    { weight: 1, arbitrary: aText.map((reasoning): Delta => ({ reasoning_content: reasoning, content: null })) },
    { weight: 1, arbitrary: fc.constant<Delta>({ role: 'assistant', content: '' }) },
    { weight: 1, arbitrary: fc.constant<Delta>({}) },
    {
      weight: 1,
      arbitrary: aText.map(
        (text): Delta => ({
          tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: text } }],
        }),
      ),
    },
  );
  /** How engines of several versions write the same chunk. */
  const writers: ((delta: Delta, usage: object | undefined) => object)[] = [
    (delta, usage) => aChunk(delta, usage && { usage }),
    (delta, usage) => aChunk(delta, { ...(usage && { usage }), prompt_token_ids: null }, { token_ids: null }),
    (delta, usage) => ({ ...(usage && { usage }), ...aChunk(delta) }),
    (delta, usage) => {
      const { choices, ...rest } = aChunk(delta) as { choices: unknown };
      return { ...rest, ...(usage && { usage }), choices, system_fingerprint: 'vllm-0.29' };
    },
    (delta, usage) => aChunk(delta, { usage: usage ?? null }, { stop_reason: null }),
  ];
  const anEvent = fc.record({
    delta: aDelta,
    usage: fc.option(
      fc.record({
        prompt: fc.nat(10_000),
        completion: fc.nat(10_000),
        cached: fc.nat(5_000),
        reasoning: fc.nat(5_000),
      }),
    ),
    isLast: fc.constantFrom(false, false, false, false, true),
    isOddOne: fc.constantFrom(false, false, false, true),
  });

  it.each([true, false])('for any stream of any engine version, usage asked for: %s', (includeUsage) => {
    fc.assert(
      fc.property(fc.constantFrom(...writers), fc.array(anEvent, { maxLength: 15 }), (write, events) => {
        const editor = anEditor({ includeUsage });
        const expected = expectedEvents(includeUsage);
        let latest: object | undefined;
        for (const { delta, usage, isLast, isOddOne } of events) {
          const counted = usage ? usageOf(usage.prompt, usage.completion, usage.cached, usage.reasoning) : undefined;
          const chunk = write(delta, counted) as { choices: { finish_reason: unknown }[]; created: number };
          if (isLast && chunk.choices[0]) chunk.choices[0].finish_reason = 'stop';
          if (isOddOne) chunk.created += 1;
          const event = edit(editor, chunk);
          expect(event && shownBy(event)).toEqual(expected(chunk));
          if (usage)
            latest = {
              promptTokens: usage.prompt,
              completionTokens: usage.completion,
              cachedPromptTokens: Math.min(usage.cached, usage.prompt),
              reasoningTokens: Math.min(usage.reasoning, usage.completion),
            };
          expect(editor.usage).toEqual(latest);
        }
      }),
      { numRuns: 400 },
    );
  });

  it('never sends a malformed event, however the engine’s bytes are damaged', () => {
    const aDamage = fc.record({
      at: fc.nat(300),
      remove: fc.nat(6),
      insert: fc.string({ unit: aCharacter, maxLength: 4 }),
    });
    fc.assert(
      fc.property(fc.constantFrom(...writers), aText, aDamage, (write, content, { at, remove, insert }) => {
        const editor = anEditor();
        edit(editor, write({ content: 'learned' }, usageOf(1, 1)));
        const bytes = Buffer.from(JSON.stringify(write({ content }, usageOf(1, 2))));
        const damaged = Buffer.concat([bytes.subarray(0, at), Buffer.from(insert), bytes.subarray(at + remove)]);
        const event = editor.edit(damaged);
        if (Buffer.isBuffer(event)) shownBy(event);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['that is not closed', '"'],
    ['with a quote in it', '"a"b"'],
    ['with a control character in it', '"a\u0001b"'],
    ['that ends in a backslash', '"a\\"'],
  ])('calls a text broken %s', (_case, text) => {
    const editor = anEditor();
    const whole = JSON.stringify(aChunk({ content: 'learned' }));
    edit(editor, whole);
    expect(edit(editor, whole.replace('"learned"', text))).toEqual(NONSENSE);
  });

  it('copies the escapes of a line end, a quote and a backslash as they are', () => {
    const editor = anEditor();
    edit(editor, aChunk({ content: 'learned' }));
    const content = 'a\n"b"\\c\t';
    expect(shownBy(edit(editor, aChunk({ content })))).toMatchObject({ choices: [{ delta: { content } }] });
  });

  it('sends no bytes that are not UTF-8', () => {
    const editor = anEditor();
    const whole = JSON.stringify(aChunk({ content: 'learned' }));
    edit(editor, whole);
    const event = editor.edit(Buffer.from(whole.replace('learned', '\u00ff'), 'latin1'));
    expect(Buffer.isBuffer(event) && isUtf8(event)).toBe(true);
    expect(shownBy(event)).toMatchObject({ choices: [{ delta: { content: '\ufffd' } }] });
  });
});

it('cannot show a tool call that never said which function', () => {
  const editor = anEditor();
  edit(editor, aChunk({ tool_calls: [{ index: 0, function: { arguments: '{}' } }] }));
  edit(editor, aChunk({}, {}, { finish_reason: 'tool_calls' }));
  expect(edit(editor, '[DONE]')).toEqual({ kind: 'unshowable' });
  edit(editor, aChunk({ tool_calls: [{ index: 0, function: { name: 'f' } }] }));
  expect(edit(editor, '[DONE]')).toMatchObject({ kind: 'whole' });
});

it('shows a delta’s known fields alone', () => {
  const delta = { content: 'x', refusal: null, token_ids: [1], audio: null, function_call: null, stop_reason: 'x' };
  expect(shownBy(edit(anEditor(), aChunk(delta)))).toMatchObject({
    choices: [{ delta: { role: 'assistant', content: 'x', refusal: null } }],
  });
  expect(JSON.stringify(shownBy(edit(anEditor(), aChunk(delta))))).not.toMatch(/token_ids|audio|function_call|stop_/);
});

it.each([{}, { id: 7, created: 'now' }, { id: '', created: -1 }, { id: 'x'.repeat(257) }])(
  'gives all chunks one id and one instant where the engine gives %j',
  (given) => {
    const editor = anEditor();
    const chunks = ['a', 'b'].map((content) => {
      const { choices } = aChunk({ content }) as { choices: object[] };
      return shownBy(edit(editor, { ...given, choices })) as { id: string; created: number };
    });
    expect(chunks[0]).toMatchObject({ id: expect.stringMatching(/^chatcmpl-.{36}$/), created: expect.any(Number) });
    expect(chunks.map(({ id, created }) => [id, created])).toEqual(
      chunks.map(() => [chunks[0]?.id, chunks[0]?.created]),
    );
  },
);

const aCall = { tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '' } }] };
it.each<[string, Delta, string]>([
  ['stop', {}, 'stop'],
  ['length', {}, 'length'],
  ['content_filter', {}, 'content_filter'],
  ['repetition', {}, 'stop'],
  ['tool_calls', {}, 'stop'],
  ['tool_calls', aCall, 'tool_calls'],
  ['stop', aCall, 'tool_calls'],
  ['length', aCall, 'length'],
])('shows the finish reason %s after the delta %j as %s', (given, delta, shown) => {
  const editor = anEditor();
  edit(editor, aChunk(delta));
  edit(editor, aChunk({}, {}, { finish_reason: given }));
  expect(lastShownBy(editor)).toMatchObject([{ choices: [{ delta: {}, finish_reason: shown }] }]);
});

it.each(['abort', 'error'])('takes the finish reason %s for a failure, never for an end', (finishReason) => {
  const editor = anEditor();
  expect(edit(editor, aChunk({ content: 'x' }, {}, { finish_reason: finishReason }))).toMatchObject({
    reason: 'engine_error_event',
    fault: { message: '500 {"message":"","param":null}' },
  });
  expect(edit(editor, '[DONE]')).toMatchObject({ kind: 'failed', reason: 'engine_did_not_finish' });
});

it.each([
  [
    'new',
    '{"error":{"message":"m","type":"BadRequestError","param":null,"code":400}}',
    '400 {"message":"m","param":null}',
  ],
  ['of a field', '{"error":{"message":"m","param":"top_p","code":400}}', '400 {"message":"m","param":"top_p"}'],
  ['old', '{"error":{"object":"error","message":"m","type":"Error","code":500}}', '500 {"message":"m","param":null}'],
  ['without a code', '{"error":{"message":"m"}}', '500 {"message":"m","param":null}'],
])('knows an error event: %s', (_case, text, message) => {
  expect(edit(anEditor(), text)).toMatchObject({ kind: 'failed', reason: 'engine_error_event', fault: { message } });
});

it.each([
  'not JSON',
  '[]',
  'null',
  '7',
  '',
  '{}',
  '{"choices":7}',
  '{"choices":[7]}',
  '{"choices":[{"index":0}]}',
  '{"choices":[{"index":0,"delta":{},"finish_reason":7}]}',
  JSON.stringify(aChunk({ content: ['x'] })),
  JSON.stringify(aChunk({ reasoning: ['x'] })),
  JSON.stringify(aChunk({ reasoning_content: { text: 'x' } })),
  JSON.stringify(aChunk({ refusal: 7 })),
  JSON.stringify(aChunk({ tool_calls: 'look_up' })),
  JSON.stringify(aChunk({ content: 'x' }, { usage: { prompt_tokens: -5, completion_tokens: 1 } })),
  JSON.stringify(aChunk({ content: 'x' }, { usage: { prompt_tokens: 1.5, completion_tokens: 1 } })),
  '{"id":"x","choices":[],"usage":{"prompt_tokens":1e400}}',
])('calls %s broken', (text) => {
  expect(edit(anEditor(), text)).toEqual(NONSENSE);
});

describe('the usage chunk', () => {
  /** The usage chunk of a stream that ended with this count. */
  const usageChunkOf = (options: Parameters<typeof anEditor>[0], usage: object) => {
    const editor = anEditor(options);
    edit(editor, aChunk({ content: 'x' }));
    edit(editor, aChunk({}, {}, { finish_reason: 'stop' }));
    expect(edit(editor, aUsageChunk(usage))).toBeUndefined();
    expect(endOf(editor).usage).toMatchObject({ promptTokens: 100, completionTokens: 20 });
    return lastShownBy(editor)[1];
  };

  it('is shown to who asked, with the counts of cache and reasoning', () => {
    expect(usageChunkOf({ includeUsage: true }, usageOf(100, 20, 64, 7))).toEqual({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1_790_000_000,
      model: 'small-chat',
      choices: [],
      usage: {
        prompt_tokens: 100,
        completion_tokens: 20,
        total_tokens: 120,
        prompt_tokens_details: { cached_tokens: 64 },
        completion_tokens_details: { reasoning_tokens: 7 },
        cache_read_input_tokens: 64,
        cache_creation_input_tokens: 36,
        cost: 0.000002,
      },
    });
  });

  it('shows no cached tokens on a model that is not cache-capable, and no reasoning the engine did not count', () => {
    expect(usageChunkOf({ includeUsage: true, isCacheCapable: false }, usageOf(100, 20, 64))).toMatchObject({
      usage: {
        prompt_tokens_details: { cached_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 0 },
        cache_read_input_tokens: 0,
        cache_creation_input_tokens: 0,
      },
    });
  });

  it('is kept from who did not ask', () => {
    expect(usageChunkOf({ includeUsage: false }, usageOf(100, 20))).toBeUndefined();
  });

  it('is shown once, though the engine counted in the finishing chunk alone or without being asked', () => {
    const editor = anEditor({ includeUsage: true });
    edit(editor, aChunk({ content: 'x' }));
    expect(edit(editor, aUsageChunk(usageOf(9, 1)))).toBeUndefined();
    expect(edit(editor, '[DONE]')).toMatchObject({ kind: 'failed', reason: 'engine_did_not_finish' });
    edit(editor, aChunk({}, { usage: usageOf(9, 2) }, { finish_reason: 'stop' }));
    expect(lastShownBy(editor)).toMatchObject([{}, { choices: [], usage: { completion_tokens: 2 } }]);
  });
});

describe('the final count', () => {
  it('is missing when more was said behind it', () => {
    const editor = anEditor();
    edit(editor, aChunk({ content: 'x' }, { usage: usageOf(9, 1) }, { finish_reason: 'stop' }));
    edit(editor, aChunk({ content: 'y' }));
    expect(endOf(editor).usage).toBeUndefined();
    edit(editor, aChunk({}, {}, { finish_reason: 'stop' }));
    expect(endOf(editor).usage).toBeUndefined();
    edit(editor, aUsageChunk(usageOf(9, 2)));
    expect(endOf(editor).usage?.completionTokens).toBe(2);
  });

  it('is that of the usage chunk, not of the chunks before', () => {
    const editor = anEditor();
    edit(editor, aChunk({ content: 'x' }, { usage: usageOf(9, 1) }));
    edit(editor, aChunk({}, { usage: usageOf(9, 2) }, { finish_reason: 'stop' }));
    edit(editor, aUsageChunk(usageOf(9, 3)));
    expect(endOf(editor).usage?.completionTokens).toBe(3);
  });

  it('is that of the finishing chunk where no usage chunk follows', () => {
    const editor = anEditor();
    edit(editor, aChunk({ content: 'x' }, { usage: usageOf(9, 1) }, { finish_reason: 'stop' }));
    expect(endOf(editor).usage?.completionTokens).toBe(1);
  });

  it('is missing when the engine counted only while it ran', () => {
    const editor = anEditor();
    edit(editor, aChunk({ content: 'x' }, { usage: usageOf(9, 1) }));
    edit(editor, aChunk({}, {}, { finish_reason: 'stop' }));
    expect(endOf(editor).usage).toBeUndefined();
    expect(editor.usage?.completionTokens).toBe(1);
  });

  it('may be zero, which is a count', () => {
    const editor = anEditor();
    edit(editor, aChunk({}, {}, { finish_reason: 'stop' }));
    edit(editor, aUsageChunk(usageOf(9, 0)));
    expect(endOf(editor).usage).toMatchObject({ promptTokens: 9, completionTokens: 0, cachedPromptTokens: 0 });
  });
});
