import { expect } from '@jest/globals';
import { splitEvents } from '../../support/splitEvents.ts';
import { type Answer, createClient } from '../support/http.ts';
import { client, stack } from '../support/plainStack.ts';
import { row } from '../support/row.ts';
import { invalid, wrapped } from '../support/shapes.ts';

const MODEL = 'llama-3.3-70b-instruct';

interface CompletionBody {
  choices: { text: string; finish_reason: string }[];
  usage: Record<string, number>;
}

const complete = (directives: string, fields: object = {}): Promise<Answer> =>
  client.post('/completions', { model: MODEL, prompt: `hi [[sim: ttft_ms=0 itl_ms=0 ${directives}]]`, ...fields });

row('completions.shape', async () => {
  const { status, body } = await complete('text="Hello."');
  expect(status).toBe(200);
  expect(body).toMatchObject({
    id: expect.stringMatching(/./),
    object: 'text_completion',
    created: expect.any(Number),
    model: MODEL,
    usage: {
      prompt_tokens: expect.any(Number),
      completion_tokens: expect.any(Number),
      total_tokens: expect.any(Number),
    },
  });
  const { choices } = body as CompletionBody;
  expect(choices).toEqual([{ index: 0, text: 'Hello.', logprobs: null, finish_reason: 'stop' }]);
});

row('completions.not-capped', async () => {
  const { usage } = (await complete('tokens=2500', { max_tokens: 2500 })).body as CompletionBody;
  expect(usage.completion_tokens).toBe(2500);
});

row('completions.prompt', async () => {
  for (const prompt of [['a', 'b'], [1, 2], null, undefined, 7]) {
    const { status, body } = await complete('', { prompt });
    expect({ prompt, status, body }).toEqual({ prompt, status: 400, body: invalid('prompt') });
  }
});

row('completions.stream', async () => {
  const { headers, text } = await complete('text="Hello you."', { stream: true });
  expect(headers.get('content-type')).toMatch(/^text\/event-stream/);
  const events = splitEvents(text);
  expect(events.pop()).toBe('[DONE]');
  const chunks = events.map((event) => JSON.parse(event) as CompletionBody & { object: string; model: string });
  expect(new Set(chunks.map(({ object, model }) => `${object} ${model}`))).toEqual(
    new Set([`text_completion ${MODEL}`]),
  );
  expect(chunks.map(({ choices }) => choices[0]?.text ?? '').join('')).toBe('Hello you.');
  expect(chunks.flatMap(({ choices }) => choices[0]?.finish_reason ?? [])).toEqual(['stop']);
});

row('completions.stream.usage', async () => {
  const usagesOf = async (fields: object) => {
    const { text } = await complete('tokens=4', { stream: true, ...fields });
    return splitEvents(text)
      .slice(0, -1)
      .map((event) => (JSON.parse(event) as Partial<CompletionBody>).usage)
      .filter((usage) => (usage ?? null) !== null);
  };
  expect(await usagesOf({})).toEqual([]);
  expect(await usagesOf({ stream_options: { include_usage: true } })).toMatchObject([{ completion_tokens: 4 }]);
});

row('completions.gates', async () => {
  const unknown = await complete('', { model: 'no-such-model' });
  expect(unknown).toMatchObject({ status: 404, body: wrapped(404, 'unknown_model') });
  const poor = createClient(stack.baseUrl, await stack.operator.makeCaller({}, {}));
  const refused = await poor.post('/completions', { model: MODEL, prompt: 'hi' });
  expect(refused).toMatchObject({ status: 402, body: wrapped(402, 'insufficient_balance') });
  expect(await complete('', { n: 2 })).toMatchObject({ status: 400, body: invalid('n') });
});
