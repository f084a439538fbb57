import { describe, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import type OpenAI from 'openai';
import { expectBilled, expectUnbilled } from '../support/expectBilled.ts';
import { findServed } from '../support/findServed.ts';
import { listRunning } from '../support/listRunning.ts';
import { makeCaller } from '../support/makeCaller.ts';
import { whileHeld } from '../support/orderEngines.ts';
import { splitEvents } from '../support/splitEvents.ts';
import { caller, stack } from './plainStack.ts';

const MODEL = 'llama-3.3-70b-instruct';
const PROMPT = 'Once upon a time, « à bientôt », 天気 😀 [[sim: ttft_ms=0 itl_ms=0]]';

type Chunk = OpenAI.Completion & { usage?: OpenAI.CompletionUsage | null };

const complete = (fields: object = {}) => caller.post('/completions', { model: MODEL, prompt: PROMPT, ...fields });

/** The chunks of a stream that has to end as whole. */
async function readChunks(response: Response): Promise<Chunk[]> {
  const events = splitEvents(await response.text());
  expect(events.pop()).toBe('[DONE]');
  return events.map((event) => JSON.parse(event));
}
const textOf = (chunks: Chunk[]) => chunks.map(({ choices }) => choices[0]?.text ?? '').join('');

describe('a whole completion', () => {
  it('has 16 tokens where none are asked for, and is billed by the listed prices', async () => {
    const { data, response } = await caller.openai.completions.create({ model: MODEL, prompt: PROMPT }).withResponse();

    expect(data).toEqual({
      id: expect.stringMatching(/./),
      object: 'text_completion',
      created: expect.any(Number),
      model: MODEL,
      choices: [{ index: 0, text: expect.stringMatching(/./), logprobs: null, finish_reason: 'length' }],
      usage: expect.objectContaining({ completion_tokens: 16 }),
    });
    await expectBilled(caller, { headers: response.headers, model: MODEL, usage: data.usage });
  });

  it.each([
    { asked: 'is cut at max_tokens', maxTokens: 7, tokens: 7, reason: 'length' },
    { asked: 'ends by itself before max_tokens', maxTokens: 40, tokens: 20, reason: 'stop' },
  ])('$asked, with the finish reason $reason', async ({ maxTokens, tokens, reason }) => {
    const { data, response } = await caller.openai.completions
      .create({ model: MODEL, prompt: `${PROMPT}[[sim: tokens=20]]`, max_tokens: maxTokens })
      .withResponse();

    expect(data.choices[0]?.finish_reason).toBe(reason);
    expect(data.usage?.completion_tokens).toBe(tokens);
    await expectBilled(caller, { headers: response.headers, model: MODEL, usage: data.usage });
  });

  it('is billed although its client left, as the engine finishes it', async () => {
    const leaving = new AbortController();
    const prompt = 'Go on. [[sim: tokens=100 ttft_ms=0 itl_ms=0]]';
    const callId = await whileHeld(stack, async () => {
      const asked = caller.openai.completions
        .create({ model: MODEL, prompt, max_tokens: 200 }, { signal: leaving.signal })
        .catch((error: unknown) => error);
      const running = await until('the engine to be at it', async () => (await listRunning(stack)).flat()[0]);
      leaving.abort();
      await asked;
      return running;
    });

    const headers = new Headers({ 'x-router-call-id': callId });
    const served = await until('the engine to have finished', async () => {
      const call = await findServed(stack, headers);
      return call?.state === 'running' ? undefined : call;
    });
    expect(served).toMatchObject({ state: 'finished', completionTokens: 100 });
    const usage = {
      prompt_tokens: served.promptTokens,
      completion_tokens: 100,
      total_tokens: served.promptTokens + 100,
    };
    await expectBilled(caller, { headers, model: MODEL, usage });
  });
});

describe('a streamed completion', () => {
  it('says the same as the whole one and costs the same, and shows no usage that was not asked for', async () => {
    const other = await makeCaller(stack);
    const whole = await other.openai.completions.create({ model: MODEL, prompt: PROMPT, max_tokens: 60 });
    const { data: stream, response } = await caller.openai.completions
      .create({ model: MODEL, prompt: PROMPT, max_tokens: 60, stream: true })
      .withResponse();
    const chunks = await Array.fromAsync(stream);

    expect(textOf(chunks)).toBe(whole.choices[0]?.text);
    expect(new Set(chunks.map(({ model, object }) => `${object} of ${model}`))).toEqual(
      new Set([`text_completion of ${MODEL}`]),
    );
    expect(chunks.filter((chunk) => 'usage' in chunk || chunk.choices.length === 0)).toEqual([]);
    expect(chunks.map(({ choices }) => choices[0]?.finish_reason ?? null).filter(Boolean)).toEqual(['length']);
    await expectBilled(caller, { headers: response.headers, model: MODEL, usage: whole.usage });
  });

  it('shows its usage in one last chunk without choices where that is asked for, then [DONE]', async () => {
    const response = await complete({ max_tokens: 9, stream: true, stream_options: { include_usage: true } });
    const chunks = await readChunks(response);
    const last = chunks.pop();

    expect(last).toMatchObject({ choices: [], usage: { completion_tokens: 9 } });
    expect(chunks.map(({ usage }) => usage)).toEqual(chunks.map(() => null));
    await expectBilled(caller, { headers: response.headers, model: MODEL, usage: last?.usage });
  });

  it.each(['reset_mid_stream', 'error_event', 'close_without_done', 'close_inside_event', 'invalid_json'])(
    'ends in an error event without [DONE] when its engine fails by %s, and costs nothing',
    async (fault) => {
      const prompt = `[[sim: tokens=50 itl_ms=0 fault=${fault} after=5]]`;
      const response = await complete({ prompt, max_tokens: 100, stream: true });

      expect(response.status).toBe(200);
      const events = splitEvents(await response.text());
      expect(JSON.parse(events.at(-1) ?? '')).toEqual({
        error: { message: expect.any(String), type: 'server_error', param: null, code: 'internal_error' },
      });
      const chunks: Chunk[] = events.slice(0, -1).map((event) => JSON.parse(event));
      expect(textOf(chunks)).not.toBe('');
      await expectUnbilled(caller, response.headers);
    },
  );
});
