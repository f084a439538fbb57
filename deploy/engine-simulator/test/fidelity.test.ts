import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { DEFAULT_KNOBS, type Knobs } from '../src/knobs.ts';
import { readEvents } from './support/readEvents.ts';
import { admin, chat, post, servedRequest, startTestSimulator, type TestSimulator } from './support/testSimulator.ts';

let simulator: TestSimulator;
beforeAll(async () => {
  simulator = await startTestSimulator([{ maxModelLen: 512 }]);
});
afterAll(() => simulator.close());
afterEach(() => {
  const { queueCap, reasoningField, toolIds, windowRule } = DEFAULT_KNOBS;
  return turn({ queueCap, reasoningField, toolIds, windowRule });
});

const turn = (knobs: Partial<Knobs>) => admin(simulator, 'config', knobs);
const ask = (content: unknown, fields: object = {}, headers = {}) =>
  post(`${simulator.url}/v1/chat/completions`, chat(content, fields), headers);
const chunksOf = async (content: string, fields: object = {}) => {
  const events = await readEvents(await ask(content, { stream: true, ...fields }));
  return events.filter((event) => event !== '[DONE]').map((event) => JSON.parse(event));
};
const metrics = async () => (await fetch(`${simulator.url}/metrics`)).text();
const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } };

describe('refusals', () => {
  it('are for a prompt that does not fit with the output asked for', async () => {
    const response = await ask('x', { max_tokens: 506 });
    const message = expect.stringMatching(/at least 8 input tokens, for a total of at least 514 tokens/);
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: expect.objectContaining({ type: 'BadRequestError', param: 'input_tokens', message }) },
    ]);
  });

  it('are, by the rule of 0.32.0, for a prompt alone; what is asked for beyond the window is cut', async () => {
    await turn({ windowRule: 'prompt' });
    const cut = await ask('[[sim: tokens=600]]', { max_tokens: 506 });
    expect(await cut.json()).toMatchObject({ choices: [{ finish_reason: 'length' }], usage: { total_tokens: 512 } });
    const tooLong = await ask('x '.repeat(600), { max_tokens: 1 });
    expect(await tooLong.json()).toMatchObject({
      error: { param: 'input_tokens', message: expect.stringMatching(/at least 513 input tokens, which exceeds/) },
    });
  });

  it('of an image that would have to be fetched are 422', async () => {
    const response = await ask([{ type: 'image_url', image_url: { url: 'https://example.com/x.png' } }]);
    const message = expect.stringContaining('Failed to fetch media');
    expect([response.status, await response.json()]).toEqual([
      422,
      { error: expect.objectContaining({ type: 'UnprocessableEntityError', param: 'image_url', message }) },
    ]);
  });

  it('of a full queue are 503 without Retry-After, and counted', async () => {
    await turn({ queueCap: 2 });
    await admin(simulator, 'pause', {});
    const [first, second] = [ask('x', {}, { 'x-request-id': 'one' }), ask('x', {}, { 'x-request-id': 'two' })];
    await Promise.all([servedRequest(simulator, 'one', () => true), servedRequest(simulator, 'two', () => true)]);
    const refused = await ask('x');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, null]);
    expect(await refused.json()).toMatchObject({ error: { type: 'Service Unavailable', code: 503 } });
    expect(await metrics()).toMatch(/vllm:admission_rejections_total\{[^}]*reason="max_num_queued_reqs"\} 1\n/);
    await admin(simulator, 'resume', {});
    expect([(await first).status, (await second).status]).toEqual([200, 200]);
  });
});

describe('answers', () => {
  it.each([
    ['reasoning', ['reasoning']],
    ['reasoning_content', ['reasoning_content']],
    ['both', ['reasoning', 'reasoning_content']],
  ] as const)('call thinking %s', async (reasoningField, names) => {
    await turn({ reasoningField });
    const content = '[[sim: reasoning="let me think" text="done"]]';
    const whole = (await (await ask(content)).json()) as { choices: { message: Record<string, unknown> }[] };
    const message = whole.choices[0]?.message ?? {};
    const told = Object.keys(message).filter((name) => name.startsWith('reasoning'));
    expect(told).toEqual(names);
    for (const name of names) expect(message[name]).toBe('let me think');
    const [, first] = await chunksOf(content);
    expect(Object.keys(first.choices[0].delta)).toEqual(names);
  });

  it('leave out the ids of tool calls', async () => {
    await turn({ toolIds: 'missing' });
    const fields = { tools: [tool], tool_choice: 'required' };
    const whole = (await (await ask('x', fields)).json()) as { choices: { message: { tool_calls: object[] } }[] };
    expect(whole.choices[0]?.message.tool_calls).toEqual([
      { type: 'function', function: { name: 'f', arguments: '{}' } },
    ]);
    const deltas = (await chunksOf('x', fields)).flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    expect(deltas.length).toBeGreaterThan(1);
    expect(deltas.some((delta) => 'id' in delta)).toBe(false);
  });
});
