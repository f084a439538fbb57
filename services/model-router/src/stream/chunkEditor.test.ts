import { isUtf8 } from 'node:buffer';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ChunkEditor, type EditedEvent } from './chunkEditor.ts';

const anEditor = ({ includeUsage = false, isCacheCapable = true } = {}): ChunkEditor =>
  new ChunkEditor({ operation: 'chat', canonicalModel: 'small-chat', includeUsage, isCacheCapable });

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
const usageOf = (promptTokens: number, completionTokens: number, cachedTokens?: number): object => ({
  prompt_tokens: promptTokens,
  total_tokens: promptTokens + completionTokens,
  completion_tokens: completionTokens,
  ...(cachedTokens !== undefined && { prompt_tokens_details: { cached_tokens: cachedTokens } }),
});
const aUsageChunk = (usage: object): object => ({ ...aChunk({}), choices: [], usage });

const edit = (editor: ChunkEditor, chunk: object | string): EditedEvent =>
  editor.edit(Buffer.from(typeof chunk === 'string' ? chunk : JSON.stringify(chunk)));

/** The JSON a client reads from an edited event, whose form is checked too. */
function shownBy(event: EditedEvent): unknown {
  if (event.kind !== 'chunk') throw new Error(`event is ${event.kind}`);
  const text = event.bytes.toString();
  expect(text.startsWith('data: ')).toBe(true);
  expect(text.endsWith('\n\n')).toBe(true);
  expect(text.slice(6, -2)).not.toContain('\n');
  return JSON.parse(text.slice(6));
}

/** What the specification makes of a chunk, written down plainly: parsed, picked, written. */
function expectedOf(chunk: object, includeUsage: boolean): unknown {
  const { id, created, choices } = JSON.parse(JSON.stringify(chunk));
  const [{ delta, finish_reason: finishReason }] = choices;
  return {
    id,
    object: 'chat.completion.chunk',
    created,
    model: 'small-chat',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason ?? null }],
    ...(includeUsage && { usage: null }),
  };
}

describe('an edited chunk is what parsing, picking and writing it anew would give', () => {
  const aText = fc.oneof(
    fc.string({ unit: 'binary' }),
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
    usage: fc.option(fc.record({ prompt: fc.nat(10_000), completion: fc.nat(10_000), cached: fc.nat(5_000) })),
    isLast: fc.constantFrom(false, false, false, false, true),
    isOddOne: fc.constantFrom(false, false, false, true),
  });

  it.each([true, false])('for any stream of any engine version, usage asked for: %s', (includeUsage) => {
    fc.assert(
      fc.property(fc.constantFrom(...writers), fc.array(anEvent, { maxLength: 15 }), (write, events) => {
        const editor = anEditor({ includeUsage });
        let latest: object | undefined;
        for (const { delta, usage, isLast, isOddOne } of events) {
          const counted = usage ? usageOf(usage.prompt, usage.completion, usage.cached) : undefined;
          const chunk = write(delta, counted) as { choices: { finish_reason: unknown }[]; created: number };
          if (isLast && chunk.choices[0]) chunk.choices[0].finish_reason = 'stop';
          if (isOddOne) chunk.created += 1;
          expect(shownBy(edit(editor, chunk))).toEqual(expectedOf(chunk, includeUsage));
          if (usage)
            latest = {
              promptTokens: usage.prompt,
              completionTokens: usage.completion,
              cachedPromptTokens: Math.min(usage.cached, usage.prompt),
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
      insert: fc.string({ unit: 'binary', maxLength: 4 }),
    });
    fc.assert(
      fc.property(fc.constantFrom(...writers), aText, aDamage, (write, content, { at, remove, insert }) => {
        const editor = anEditor();
        edit(editor, write({ content: 'learned' }, usageOf(1, 1)));
        const bytes = Buffer.from(JSON.stringify(write({ content }, usageOf(1, 2))));
        const damaged = Buffer.concat([bytes.subarray(0, at), Buffer.from(insert), bytes.subarray(at + remove)]);
        const event = editor.edit(damaged);
        if (event.kind === 'chunk') shownBy(event);
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
    expect(edit(editor, whole.replace('"learned"', text))).toEqual({ kind: 'broken' });
  });

  it('sends no bytes that are not UTF-8', () => {
    const editor = anEditor();
    const whole = JSON.stringify(aChunk({ content: 'learned' }));
    edit(editor, whole);
    const event = editor.edit(Buffer.from(whole.replace('learned', '\u00ff'), 'latin1'));
    expect(event.kind === 'chunk' && isUtf8(event.bytes)).toBe(true);
    expect(shownBy(event)).toMatchObject({ choices: [{ delta: { content: '\ufffd' } }] });
  });
});

it('tells a delta with a tool call', () => {
  const delta = { tool_calls: [{ index: 0, function: { name: 'f', arguments: '' } }] };
  expect(edit(anEditor(), aChunk(delta))).toMatchObject({ kind: 'chunk', hasToolCall: true });
  expect(edit(anEditor(), aChunk({ content: 'x', tool_calls: [] }))).toMatchObject({ hasToolCall: false });
});

it.each([
  ['stop', 'stop'],
  ['length', 'length'],
  ['tool_calls', 'tool_calls'],
  ['repetition', 'stop'],
])('shows the finish reason %s as %s', (given, shown) => {
  const editor = anEditor();
  expect(shownBy(edit(editor, aChunk({}, {}, { finish_reason: given })))).toMatchObject({
    choices: [{ finish_reason: shown }],
  });
  expect(editor.finishReason).toBe(shown);
});

it.each(['abort', 'error'])('takes the finish reason %s for a failure, never for an end', (finishReason) => {
  const editor = anEditor();
  expect(edit(editor, aChunk({ content: 'x' }, {}, { finish_reason: finishReason }))).toMatchObject({
    kind: 'error',
    status: 500,
  });
  expect(editor.finishReason).toBeUndefined();
});

it.each<[string, string, Partial<Extract<EditedEvent, { kind: 'error' }>>]>([
  ['new', '{"error":{"message":"m","type":"BadRequestError","param":null,"code":400}}', { status: 400, message: 'm' }],
  ['old', '{"error":{"object":"error","message":"m","type":"InternalServerError","code":500}}', { status: 500 }],
  ['without a code', '{"error":{"message":"m"}}', { status: 500 }],
])('knows an error event: %s', (_case, text, fault) => {
  expect(edit(anEditor(), text)).toMatchObject({ kind: 'error', ...fault });
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
  JSON.stringify(aChunk({ content: 'x' }, { usage: { prompt_tokens: -5, completion_tokens: 1 } })),
  JSON.stringify(aChunk({ content: 'x' }, { usage: { prompt_tokens: 1.5, completion_tokens: 1 } })),
  '{"id":"x","choices":[],"usage":{"prompt_tokens":1e400}}',
])('calls %s broken', (text) => {
  expect(edit(anEditor(), text)).toEqual({ kind: 'broken' });
});

it('knows the end', () => {
  expect(edit(anEditor(), '[DONE]')).toEqual({ kind: 'done' });
});

describe('the usage chunk', () => {
  it('is shown to who asked, with the cache counts of a cache-capable model', () => {
    const event = edit(anEditor({ includeUsage: true }), aUsageChunk(usageOf(100, 20, 64)));
    expect(shownBy(event)).toMatchObject({
      model: 'small-chat',
      choices: [],
      usage: {
        prompt_tokens: 100,
        completion_tokens: 20,
        total_tokens: 120,
        cache_read_input_tokens: 64,
        cache_creation_input_tokens: 36,
      },
    });
  });

  it('shows no cached tokens on a model that is not cache-capable', () => {
    const event = edit(anEditor({ includeUsage: true, isCacheCapable: false }), aUsageChunk(usageOf(100, 20, 64)));
    expect(shownBy(event)).toMatchObject({ usage: { cache_read_input_tokens: 0, cache_creation_input_tokens: 0 } });
  });

  it('is kept from who did not ask, and counts all the same', () => {
    const editor = anEditor();
    edit(editor, aChunk({}, {}, { finish_reason: 'stop' }));
    expect(edit(editor, aUsageChunk(usageOf(100, 20)))).toEqual({ kind: 'nothing' });
    expect(editor.finalUsage).toEqual({ promptTokens: 100, completionTokens: 20, cachedPromptTokens: 0 });
  });
});

describe('the final count', () => {
  it('is that of the usage chunk, not of the chunks before', () => {
    const editor = anEditor();
    edit(editor, aChunk({ content: 'x' }, { usage: usageOf(9, 1) }));
    edit(editor, aChunk({}, { usage: usageOf(9, 2) }, { finish_reason: 'stop' }));
    edit(editor, aUsageChunk(usageOf(9, 3)));
    expect(editor.finalUsage?.completionTokens).toBe(3);
  });

  it('is that of the finishing chunk where no usage chunk follows', () => {
    const editor = anEditor();
    edit(editor, aChunk({ content: 'x' }, { usage: usageOf(9, 1) }, { finish_reason: 'stop' }));
    expect(editor.finalUsage?.completionTokens).toBe(1);
  });

  it('is missing when the engine counted only while it ran', () => {
    const editor = anEditor();
    edit(editor, aChunk({ content: 'x' }, { usage: usageOf(9, 1) }));
    edit(editor, aChunk({}, {}, { finish_reason: 'stop' }));
    expect(editor.finalUsage).toBeUndefined();
    expect(editor.usage?.completionTokens).toBe(1);
  });

  it('may be zero, which is a count', () => {
    const editor = anEditor();
    edit(editor, aChunk({}, {}, { finish_reason: 'stop' }));
    edit(editor, aUsageChunk(usageOf(9, 0)));
    expect(editor.finalUsage).toEqual({ promptTokens: 9, completionTokens: 0, cachedPromptTokens: 0 });
  });
});
