import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { type Chunk, contentOf, readEvents, toChunks } from './support/readEvents.ts';
import { chat, post, startTestSimulator, type TestSimulator } from './support/testSimulator.ts';

interface Whole {
  choices: {
    message: {
      content: string | null;
      reasoning: string | null;
      tool_calls?: { id: string; function: { name: string; arguments: string } }[];
    };
    finish_reason: string;
  }[];
  usage: { completion_tokens: number; completion_tokens_details: { reasoning_tokens: number } | null };
}

let simulator: TestSimulator;
beforeAll(async () => {
  simulator = await startTestSimulator([{}, { reasoningParser: 'qwen3' }]);
});
afterAll(() => simulator.close());

const ask = (content: unknown, fields: object, url = simulator.url) =>
  post(`${url}/v1/chat/completions`, chat(content, fields));
const whole = async (content: unknown, fields: object = {}, url?: string): Promise<Whole> => {
  const response = await ask(content, fields, url);
  expect(response.status).toBe(200);
  return (await response.json()) as Whole;
};
const streamed = async (content: unknown, fields: object = {}, url?: string): Promise<Chunk[]> =>
  toChunks(await readEvents(await ask(content, { ...fields, stream: true }, url)));

describe('tool calls', () => {
  const tools = ['weather', 'note'].map((name) => ({
    type: 'function',
    function: { name, parameters: { type: 'object', properties: { text: { type: 'string', minLength: 60 } } } },
  }));
  const text = '{"text":"one\\ntwo \\"three\\" \\\\ four 東京 \\u00e9 é"}';
  const quoted = text.replaceAll('\\', '\\\\').replaceAll('"', '\\"');
  const content = `[[sim: tool_call=note tool_arguments="${quoted}"]]`;

  it('have the arguments a directive gives, exactly, valid or not', async () => {
    const { choices } = await whole(content, { tools });
    expect(choices[0]?.message.tool_calls).toMatchObject([{ function: { name: 'note', arguments: text } }]);
    const broken = await whole('[[sim: tool_call=note tool_arguments="{\\"text\\":"]]', { tools });
    expect(broken.choices[0]?.message.tool_calls?.[0]?.function.arguments).toBe('{"text":');
  });

  it('stream their arguments cut inside strings and inside escapes', async () => {
    const calls = (await streamed(content, { tools })).flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    const pieces = calls.map((call) => call.function.arguments);
    expect(pieces.join('')).toBe(text);
    const endsInsideEscape = (piece: string) => /(^|[^\\])(\\\\)*\\$/.test(piece);
    expect(pieces.filter(endsInsideEscape).length).toBeGreaterThan(0);
    expect(pieces.filter((piece) => piece !== '' && !/["\\{}:]/.test(piece)).length).toBeGreaterThan(1);
  });

  it('have escapes in what is made up, too', async () => {
    const seen: string[] = [];
    for (const seed of [1, 2, 3]) {
      const { choices } = await whole('x', { tools, tool_choice: 'required', seed });
      const json = choices[0]?.message.tool_calls?.[0]?.function.arguments ?? '';
      expect(JSON.parse(json)).toEqual({ text: expect.any(String) });
      seen.push(json);
    }
    expect(seen.join('')).toMatch(/\\["nt\\]/);
  });

  it('come in parallel, one after the other, each with its own index and id', async () => {
    const calls = '[[sim: tool_call=note tool_call=weather tool_call=note]]';
    const deltas = (await streamed(calls, { tools })).flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    const first = deltas.filter(({ id }) => id);
    expect(first.map(({ index, function: called }) => [index, called.name])).toEqual([
      [0, 'note'],
      [1, 'weather'],
      [2, 'note'],
    ]);
    expect(new Set(first.map(({ id }) => id)).size).toBe(3);
    const { choices } = await whole(calls, { tools });
    const joined = [0, 1, 2].map((index) =>
      deltas
        .filter((delta) => delta.index === index)
        .map((delta) => delta.function.arguments)
        .join(''),
    );
    expect(choices[0]?.message.tool_calls?.map((call) => call.function.arguments)).toEqual(joined);
  });

  it('are cut by max_tokens into JSON that does not parse', async () => {
    const { choices } = await whole('x', { tools, tool_choice: 'required', max_tokens: 8 });
    expect(choices[0]?.finish_reason).toBe('length');
    expect(() => JSON.parse(choices[0]?.message.tool_calls?.[0]?.function.arguments ?? '')).toThrow();
  });
});

describe('JSON mode', () => {
  const schema = {
    type: 'object',
    properties: {
      name: { type: 'string', minLength: 3, maxLength: 40 },
      kind: { enum: ['lake', 'river'] },
      depths: { type: 'array', items: { type: 'number', minimum: 0.1, maximum: 0.3 }, minItems: 2, maxItems: 4 },
      place: {
        type: 'object',
        properties: { country: { type: 'string' }, population: { type: 'integer', minimum: 11, maximum: 12 } },
        required: ['country', 'population'],
      },
    },
    required: ['name', 'kind', 'depths', 'place'],
    additionalProperties: false,
  };
  const format = { response_format: { type: 'json_schema', json_schema: { name: 'water', schema, strict: true } } };

  it('answers a value that is valid for the schema, streamed as whole', async () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const { choices } = await whole('x', { ...format, seed });
      const json = choices[0]?.message.content ?? '';
      const verdict = z.fromJSONSchema(schema as z.core.JSONSchema.JSONSchema).safeParse(JSON.parse(json));
      expect(verdict.error?.issues ?? []).toEqual([]);
      expect(contentOf(await streamed('x', { ...format, seed }))).toBe(json);
    }
  });

  it('is cut by max_tokens into text that does not parse', async () => {
    const { choices } = await whole('x', { ...format, max_tokens: 12 });
    expect(choices[0]?.finish_reason).toBe('length');
    expect(() => JSON.parse(choices[0]?.message.content ?? '')).toThrow();
  });
});

describe('a reasoning model', () => {
  const think = (content: string, fields: object = {}) => whole(content, fields, simulator.urls[1]);

  it('thinks before it answers, and counts it as completion', async () => {
    const { choices, usage } = await think('[[sim: tokens=40]]');
    expect(choices[0]?.message).toMatchObject({
      reasoning: expect.stringMatching(/\w/),
      content: expect.stringMatching(/\w/),
    });
    expect(usage.completion_tokens).toBe(40);
    expect(usage.completion_tokens_details?.reasoning_tokens).toBeGreaterThanOrEqual(8);
    const kinds = (await streamed('[[sim: tokens=40]]', {}, simulator.urls[1])).map(({ choices: [choice] }) =>
      choice?.delta.reasoning === undefined ? 'content' : 'reasoning',
    );
    expect(kinds.indexOf('reasoning')).toBe(1);
    expect(kinds.lastIndexOf('reasoning')).toBeLessThan(kinds.indexOf('content', 1));
  });

  it.each([
    ['chat_template_kwargs', { chat_template_kwargs: { enable_thinking: false } }],
    ['reasoning_effort', { reasoning_effort: 'none' }],
  ])('does not when %s says so', async (_name, fields) => {
    const { choices, usage } = await think('[[sim: tokens=40]]', fields);
    expect([choices[0]?.message.reasoning, usage.completion_tokens_details]).toEqual([null, null]);
    expect(usage.completion_tokens).toBe(40);
  });

  it('may be cut while it still thinks', async () => {
    const { choices } = await think('x', { max_tokens: 4 });
    expect(choices[0]).toMatchObject({
      message: { content: '', reasoning: expect.stringMatching(/\w/) },
      finish_reason: 'length',
    });
  });
});
