import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Chunk, readEvents, toChunks } from './support/readEvents.ts';
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
});
