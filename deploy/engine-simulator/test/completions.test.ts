import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readEvents } from './support/readEvents.ts';
import { MODEL, post, startTestSimulator, type TestSimulator } from './support/testSimulator.ts';

interface Chunk {
  id: string;
  object: string;
  choices: { index: number; text: string; finish_reason: string | null; stop_reason: string | null }[];
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
}

let simulator: TestSimulator;
beforeAll(async () => {
  simulator = await startTestSimulator([{ maxModelLen: 512 }]);
});
afterAll(() => simulator.close());

const complete = (body: object, headers = {}) =>
  post(`${simulator.url}/v1/completions`, { model: MODEL, ...body }, headers);
const whole = async (body: object): Promise<Required<Chunk>> => {
  const response = await complete(body);
  expect(response.status).toBe(200);
  return (await response.json()) as Required<Chunk>;
};
const streamed = async (body: object) => {
  const events = await readEvents(await complete({ ...body, stream: true }));
  expect(events.pop()).toBe('[DONE]');
  return events.map((event) => JSON.parse(event) as Chunk);
};
const textOf = (chunks: Chunk[], index = 0) =>
  chunks
    .flatMap(({ choices }) => choices)
    .filter((choice) => choice.index === index)
    .map(({ text }) => text)
    .join('');
const countTokens = async (prompt: string) => {
  const answer = await post(`${simulator.url}/tokenize`, { prompt });
  return ((await answer.json()) as { count: number }).count;
};

describe('a legacy completion', () => {
  it('has at most 16 tokens unless it says otherwise', async () => {
    const { choices, usage, object } = await whole({ prompt: 'Once upon a time' });
    expect(object).toBe('text_completion');
    expect(usage).toMatchObject({ prompt_tokens: await countTokens('Once upon a time'), completion_tokens: 16 });
    expect(choices[0]).toMatchObject({ index: 0, finish_reason: 'length', stop_reason: null });
    expect((await whole({ prompt: '[[sim: tokens=30]]', max_tokens: 40 })).usage.completion_tokens).toBe(30);
  });

  it('streams the text it answers whole, without a role', async () => {
    const body = { prompt: 'Où est 東京? 🚀 [[sim: tokens=12]]', stream_options: { include_usage: true } };
    const chunks = await streamed(body);
    const { choices, usage } = await whole({ prompt: body.prompt });
    expect(textOf(chunks)).toBe(choices[0]?.text);
    expect(chunks.some((chunk) => 'delta' in (chunk.choices[0] ?? {}))).toBe(false);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: usage.completion_tokens } });
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop');
  });

  it('streams the running count with continuous_usage_stats', async () => {
    const options = { include_usage: true, continuous_usage_stats: true };
    const chunks = await streamed({ prompt: '[[sim: tokens=4]]', stream_options: options });
    expect(chunks.map(({ usage }) => usage?.completion_tokens)).toEqual([1, 2, 3, 4, 4]);
  });

  it('ends before a stop string', async () => {
    const { choices } = await whole({ prompt: '[[sim: text="one STOP two"]]', stop: 'STOP' });
    expect(choices[0]).toMatchObject({ text: 'one ', finish_reason: 'stop', stop_reason: 'STOP' });
  });

  it('suffers faults like a chat', async () => {
    const chunks = await readEvents(
      await complete({ prompt: '[[sim: tokens=9 fault=error_event after=2]]', stream: true }),
    );
    expect(JSON.parse(chunks.at(-2) ?? '')).toMatchObject({ error: { code: 500 } });
    expect((await complete({ prompt: '[[sim: fault=http_503]]' })).status).toBe(503);
  });

  it.each([
    ['no prompt', {}, 'body.prompt', /Field required/],
    ['several prompts', { prompt: ['x', 'y'] }, 'body.prompt', /validation error/],
    ['an empty prompt', { prompt: '' }, 'prompt', /empty/],
    ['a suffix', { prompt: 'x', suffix: 'y' }, 'suffix', /suffix/],
    ['a prompt longer than the window', { prompt: 'x'.repeat(3_000) }, 'input_tokens', /maximum context length is 512/],
    ['stream_options without stream', { prompt: 'x', stream_options: {} }, 'stream_options', /stream/],
    ['a bad directive', { prompt: '[[sim: nonsense]]' }, 'prompt', /nonsense/],
  ])('is refused with %s', async (_case, body, param, message) => {
    const response = await complete(body);
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: expect.objectContaining({ param, message: expect.stringMatching(message) }) },
    ]);
  });
});
