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
});
