import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { contentOf, readEvents, toChunks } from './support/readEvents.ts';
import { chat, MODEL, post, startTestSimulator, type TestSimulator } from './support/testSimulator.ts';

interface Whole {
  id: string;
  model: string;
  choices: {
    message: {
      content: string | null;
      reasoning: string | null;
      tool_calls?: { id: string; type: string; function: { name: string; arguments: string } }[];
    };
    finish_reason: string;
    stop_reason: string | null;
  }[];
  usage: {
    prompt_tokens: number;
    completion_tokens: number;
    total_tokens: number;
    prompt_tokens_details: { cached_tokens: number; multimodal_tokens?: { image: number } };
    completion_tokens_details: { reasoning_tokens: number } | null;
  };
}

let simulator: TestSimulator;
beforeAll(async () => {
  simulator = await startTestSimulator([{}, {}, { servedModelNames: ['other-model'] }]);
});
afterAll(() => simulator.close());

const path = '/v1/chat/completions';
const whole = async (body: object, { url = simulator.url, headers = {} } = {}): Promise<Whole> => {
  const response = await post(`${url}${path}`, body, headers);
  expect(response.status).toBe(200);
  return (await response.json()) as Whole;
};
const streamed = async (body: object) =>
  toChunks(await readEvents(await post(simulator.url + path, { ...body, stream: true })));
const countTokens = async (body: object): Promise<number> => {
  const answer = await post(`${simulator.url}/tokenize`, body);
  return ((await answer.json()) as { count: number }).count;
};

describe('text', () => {
  const seeded = chat('Tell me about rivers.', { seed: 7, temperature: 0.5 });
  const textOf = async (body: object, url?: string) =>
    (await whole(body, url ? { url } : {})).choices[0]?.message.content;

  it('is the same on every replica for the same prompt, seed and temperature', async () => {
    const [first, second] = [await textOf(seeded), await textOf(seeded, simulator.urls[1])];
    expect(first).toBe(second);
    expect(first).not.toBe('');
  });

  it.each([
    ['seed', { ...seeded, seed: 8 }],
    ['temperature', { ...seeded, temperature: 0.6 }],
    ['prompt', { ...seeded, messages: [{ role: 'user', content: 'Tell me about lakes.' }] }],
  ])('changes with the %s', async (_what, other) => expect(await textOf(other)).not.toBe(await textOf(seeded)));

  it('changes with the model', async () => {
    const other = await textOf({ ...seeded, model: 'other-model' }, simulator.urls[2]);
    expect(other).not.toBe(await textOf(seeded));
  });

  it('ignores the seed at temperature 0', async () => {
    const greedy = { ...seeded, temperature: 0 };
    expect(await textOf({ ...greedy, seed: 1 })).toBe(await textOf({ ...greedy, seed: 2 }));
  });

  it('does not depend on the cache salt or on streaming', async () => {
    const salted = await textOf({ ...seeded, cache_salt: 'tenant' });
    expect(salted).toBe(await textOf(seeded));
    expect(contentOf(await streamed(seeded))).toBe(salted);
  });
});

describe('usage', () => {
  it('counts the prompt as /tokenize does, template included', async () => {
    const body = {
      model: MODEL,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'text', text: 'Où est 東京? 🚀' }] },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: '1', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', content: 'río', tool_call_id: '1' },
      ],
      tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
    };
    expect((await whole(body)).usage.prompt_tokens).toBe(await countTokens(body));
  });

  it('counts the text and the stop token as completion', async () => {
    const { choices, usage } = await whole(chat('Hello'));
    const text = choices[0]?.message.content ?? '';
    expect(usage.completion_tokens).toBe((await countTokens({ model: MODEL, prompt: text })) + 1);
    expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens);
  });

  it('counts 256 tokens an image', async () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
    const { usage } = await whole(chat([{ type: 'text', text: 'x' }, image, image]));
    const { usage: plain } = await whole(chat('x'));
    expect(usage.prompt_tokens - plain.prompt_tokens).toBe(512);
    expect(usage.prompt_tokens_details.multimodal_tokens).toEqual({ image: 512 });
  });

  it('shows cached prompt tokens in whole blocks, apart for every salt', async () => {
    const body = chat(`A long beginning that is asked twice: ${'river '.repeat(100)}`, { cache_salt: 'tenant-a' });
    const cachedOf = async (fields: object) =>
      (await whole({ ...body, ...fields })).usage.prompt_tokens_details.cached_tokens;
    expect(await cachedOf({})).toBe(0);
    const again = await cachedOf({});
    expect(again).toBeGreaterThan(0);
    expect(again % 16).toBe(0);
    expect(await cachedOf({ cache_salt: 'tenant-b' })).toBe(0);
  });

  it('reuses the answer as the prefix of the next turn', async () => {
    const first = { role: 'user', content: 'First turn [[sim: tokens=200]]' };
    const { choices, usage } = await whole({ messages: [first], cache_salt: 'turns' });
    const next = [
      first,
      { role: 'assistant', content: choices[0]?.message.content },
      { role: 'user', content: 'And?' },
    ];
    const { usage: second } = await whole({ messages: next, cache_salt: 'turns' });
    expect(second.prompt_tokens_details.cached_tokens).toBeGreaterThan(usage.prompt_tokens);
  });

  it('streams usage only when asked, in a last chunk without choices', async () => {
    const silent = await streamed(chat('Hi'));
    expect(silent.some(({ usage }) => usage)).toBe(false);
    const chunks = await streamed(chat('Hi', { stream_options: { include_usage: true } }));
    const last = chunks.pop();
    expect(last?.choices).toEqual([]);
    expect(last?.usage).toMatchObject({ prompt_tokens: await countTokens(chat('Hi')) });
    expect(chunks.some(({ usage }) => usage)).toBe(false);
  });

  it('streams the running count on every chunk with continuous_usage_stats', async () => {
    const options = { include_usage: true, continuous_usage_stats: true };
    const chunks = await streamed(chat('[[sim: tokens=12]]', { stream_options: options }));
    const counts = chunks.map(({ usage }) => usage?.completion_tokens ?? -1);
    expect(counts).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 12]);
  });
});

describe('length', () => {
  it.each([
    ['max_tokens', { max_tokens: 3 }, 3, 'length'],
    ['max_completion_tokens before max_tokens', { max_tokens: 9, max_completion_tokens: 4 }, 4, 'length'],
    ['min_tokens', { min_tokens: 40 }, 41, 'stop'],
    ['ignore_eos', { ignore_eos: true, max_tokens: 300 }, 300, 'length'],
  ])('follows %s', async (_name, fields, tokens, reason) => {
    const { usage, choices } = await whole(chat('[[sim: tokens=20]]', fields));
    expect([usage.completion_tokens, choices[0]?.finish_reason]).toEqual([tokens, reason]);
  });

  it('is cut at the window when nothing was requested', async () => {
    const { usage, choices } = await whole(chat('[[sim: tokens=20000]]'));
    expect(usage.total_tokens).toBe(8_192);
    expect(choices[0]?.finish_reason).toBe('length');
  });

  it('ends before a stop string, which is removed and named', async () => {
    const body = chat('[[sim: text="one two three STOP four"]]', { stop: ['nothing', 'STOP'] });
    const choice = (await whole(body)).choices[0];
    expect(choice).toMatchObject({
      message: { content: 'one two three ' },
      finish_reason: 'stop',
      stop_reason: 'STOP',
    });
    const chunks = await streamed(body);
    expect(contentOf(chunks)).toBe('one two three ');
    expect(chunks.at(-1)?.choices[0]).toMatchObject({ finish_reason: 'stop', stop_reason: 'STOP' });
  });

  it('lets no stop string end the text before min_tokens', async () => {
    const body = chat('[[sim: text="STOP now and STOP then"]]', { stop: 'STOP', min_tokens: 3 });
    expect((await whole(body)).choices[0]?.message.content).toBe('STOP now and ');
  });
});

describe('choices', () => {
  it('reasons before it answers', async () => {
    const { choices, usage } = await whole(chat('[[sim: reasoning="let me think" text="done"]]'));
    expect(choices[0]?.message).toMatchObject({ reasoning: 'let me think', content: 'done' });
    const reasoningTokens = await countTokens({ prompt: 'let me think' });
    expect(usage.completion_tokens_details).toEqual({ reasoning_tokens: reasoningTokens });
    expect(usage.completion_tokens).toBe(reasoningTokens + (await countTokens({ prompt: 'done' })) + 1);
  });

  it('answers an object in JSON mode, and cut JSON when it is too long', async () => {
    const format = { response_format: { type: 'json_object' } };
    const text = (await whole(chat('JSON', format))).choices[0]?.message.content ?? '';
    expect(JSON.parse(text)).toEqual(expect.objectContaining({}));
    const cut = (await whole(chat('JSON', { ...format, max_tokens: 3 }))).choices[0];
    expect(cut?.finish_reason).toBe('length');
    expect(() => JSON.parse(cut?.message.content ?? '')).toThrow();
  });
});

describe('tool calls', () => {
  const parameters = {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1, maximum: 5 } },
    required: ['city', 'days'],
  };
  const tools = ['weather', 'news'].map((name) => ({ type: 'function', function: { name, parameters } }));
  const named = { type: 'function', function: { name: 'news' } };

  it.each([
    ['a directive', '[[sim: tool_call=weather]]', {}, ['weather'], 'tool_calls'],
    ['two directives', '[[sim: tool_call=weather tool_call=news]]', {}, ['weather', 'news'], 'tool_calls'],
    [
      'two but not in parallel',
      '[[sim: tool_call=weather tool_call=news]]',
      { parallel_tool_calls: false },
      ['weather'],
      'tool_calls',
    ],
    ['required', 'Hi', { tool_choice: 'required' }, ['weather'], 'tool_calls'],
    ['a named choice', 'Hi', { tool_choice: named }, ['news'], 'stop'],
    ['required, but misbehaving', '[[sim: no_tool_call]]', { tool_choice: 'required' }, [], 'stop'],
    ['none', '[[sim: tool_call=weather]]', { tool_choice: 'none' }, [], 'stop'],
    ['auto', 'Hi', {}, [], 'stop'],
  ])('come with %s', async (_case, content, fields, names, reason) => {
    const choice = (await whole(chat(content, { tools, ...fields }))).choices[0];
    const calls = choice?.message.tool_calls ?? [];
    expect(calls.map((call) => call.function.name)).toEqual(names);
    expect(choice?.finish_reason).toBe(reason);
    for (const call of calls) {
      const given = JSON.parse(call.function.arguments) as { city: unknown; days: number };
      expect(typeof given.city).toBe('string');
      expect([1, 2, 3, 4, 5]).toContain(given.days);
    }
  });

  it('stream a name with an id first, then the arguments in pieces', async () => {
    const chunks = await streamed(chat('Hi', { tools, tool_choice: 'required' }));
    const deltas = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    expect(deltas[0]).toMatchObject({
      index: 0,
      id: expect.stringMatching(/^chatcmpl-tool-/),
      function: { name: 'weather' },
    });
    expect(deltas.length).toBeGreaterThan(3);
    const json = deltas.map((delta) => delta.function.arguments ?? '').join('');
    expect(Object.keys(JSON.parse(json))).toEqual(['city', 'days']);
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('tool_calls');
  });
});

describe('answers', () => {
  it('take their id from x-request-id and their model from the first served name', async () => {
    const answer = await whole(chat('Hi'), { headers: { 'x-request-id': 'call-1' } });
    expect(answer).toMatchObject({ id: 'chatcmpl-call-1', model: MODEL });
  });

  it('send the headers of a stream before the first token', async () => {
    const abort = new AbortController();
    const response = await fetch(simulator.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(chat('[[sim: ttft_ms=600000]]', { stream: true })),
      signal: abort.signal,
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    abort.abort();
  });
});
