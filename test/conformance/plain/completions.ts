import { expect } from '@jest/globals';
import { expectBilled, expectUnbilled, type SeenUsage } from '../../support/expectBilled.ts';
import { makeAccount } from '../../support/makeAccount.ts';
import { splitEvents } from '../../support/splitEvents.ts';
import { type Answer, createClient } from '../support/http.ts';
import { client, stack } from '../support/plainStack.ts';
import { row } from '../support/row.ts';
import { envelope, invalid, wrapped } from '../support/shapes.ts';

const MODEL = 'llama-3.3-70b-instruct';

const PROMPT = 'Once upon a time, « à bientôt », 天気 😀 [[sim: ttft_ms=0 itl_ms=0]]';

interface CompletionBody {
  choices: { text: string; finish_reason: string }[];
  usage: SeenUsage;
}
type Chunk = Partial<CompletionBody> & { object: string; model: string };

const complete = (directives: string, fields: object = {}): Promise<Answer> =>
  client.post('/completions', { model: MODEL, prompt: `hi [[sim: ttft_ms=0 itl_ms=0 ${directives}]]`, ...fields });
/** Asks as a client of its own, and asserts that the answer is billed. */
async function billed(fields: object): Promise<CompletionBody> {
  const account = await makeAccount(stack);
  const response = await account.post('/completions', { model: MODEL, prompt: PROMPT, ...fields });
  const body = (await response.json()) as CompletionBody;
  await expectBilled(account, { headers: response.headers, model: MODEL, usage: body.usage });
  return body;
}
/** The chunks of a stream that has to end as whole. */
function chunksOf(text: string): Chunk[] {
  const events = splitEvents(text);
  expect(events.pop()).toBe('[DONE]');
  return events.map((event) => JSON.parse(event));
}
const textOf = (chunks: Chunk[]) => chunks.map(({ choices }) => choices?.[0]?.text ?? '').join('');
const finishOf = (chunks: Chunk[]) => chunks.flatMap(({ choices }) => choices?.[0]?.finish_reason ?? []);

row('completions.shape', async () => {
  const { status, body } = await complete('text="Hello."');
  expect(status).toBe(200);
  expect(body).toEqual({
    id: expect.stringMatching(/./),
    object: 'text_completion',
    created: expect.any(Number),
    model: MODEL,
    choices: [{ index: 0, text: 'Hello.', logprobs: null, finish_reason: 'stop' }],
    usage: expect.objectContaining({
      prompt_tokens: expect.any(Number),
      completion_tokens: expect.any(Number),
      total_tokens: expect.any(Number),
    }),
  });
});

row('completions.finish_reason', async () => {
  const directives = `${PROMPT}[[sim: tokens=20]]`;
  for (const { fields, tokens, reason } of [
    { fields: {}, tokens: 16, reason: 'length' },
    { fields: { prompt: directives, max_tokens: 7 }, tokens: 7, reason: 'length' },
    { fields: { prompt: directives, max_tokens: 40 }, tokens: 20, reason: 'stop' },
  ]) {
    const { choices, usage } = await billed(fields);
    expect(choices).toMatchObject([{ text: expect.stringMatching(/./), finish_reason: reason }]);
    expect(usage.completion_tokens).toBe(tokens);
  }
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
  const chunks = chunksOf(text);
  expect(new Set(chunks.map(({ object, model }) => `${object} ${model}`))).toEqual(
    new Set([`text_completion ${MODEL}`]),
  );
  expect(textOf(chunks)).toBe('Hello you.');
  expect(finishOf(chunks)).toEqual(['stop']);
});

row('completions.stream.same-as-whole', async () => {
  const whole = await billed({ max_tokens: 60 });
  const account = await makeAccount(stack);
  const response = await account.post('/completions', { model: MODEL, prompt: PROMPT, max_tokens: 60, stream: true });
  const chunks = chunksOf(await response.text());
  expect(textOf(chunks)).toBe(whole.choices[0]?.text);
  expect(finishOf(chunks)).toEqual(['length']);
  await expectBilled(account, { headers: response.headers, model: MODEL, usage: whole.usage });
});

row('completions.stream.usage', async () => {
  const account = await makeAccount(stack);
  const asked = { model: MODEL, prompt: PROMPT, max_tokens: 9, stream: true };
  const without = await account.post('/completions', asked);
  const silent = chunksOf(await without.text());
  expect(silent.filter((chunk) => 'usage' in chunk || chunk.choices?.length === 0)).toEqual([]);

  const other = await makeAccount(stack);
  const response = await other.post('/completions', { ...asked, stream_options: { include_usage: true } });
  const chunks = chunksOf(await response.text());
  const last = chunks.pop();
  expect(last).toMatchObject({ choices: [], usage: { completion_tokens: 9 } });
  expect(chunks.map(({ usage }) => usage)).toEqual(chunks.map(() => null));
  await expectBilled(other, { headers: response.headers, model: MODEL, usage: last?.usage });
});

row('completions.stream.error-event', async () => {
  const faults = ['reset_mid_stream', 'error_event', 'close_without_done', 'close_inside_event', 'invalid_json'];
  await Promise.all(
    faults.map(async (fault) => {
      const account = await makeAccount(stack);
      const prompt = `[[sim: tokens=50 itl_ms=0 fault=${fault} after=5]]`;
      const response = await account.post('/completions', { model: MODEL, prompt, max_tokens: 100, stream: true });
      expect({ fault, status: response.status }).toEqual({ fault, status: 200 });
      const events = splitEvents(await response.text());
      expect(JSON.parse(events.pop() ?? '')).toEqual(envelope('server_error', 'internal_error'));
      expect(textOf(events.map((event) => JSON.parse(event)))).not.toBe('');
      await expectUnbilled(account, response.headers);
    }),
  );
});

row('completions.gates', async () => {
  const unknown = await complete('', { model: 'no-such-model' });
  expect(unknown).toMatchObject({ status: 404, body: wrapped(404, 'unknown_model') });
  const poor = createClient(stack.baseUrl, await stack.operator.makeFundedKey({}, {}));
  const refused = await poor.post('/completions', { model: MODEL, prompt: 'hi' });
  expect(refused).toMatchObject({ status: 402, body: wrapped(402, 'insufficient_balance') });
  expect(await complete('', { n: 2 })).toMatchObject({ status: 400, body: invalid('n') });
});
