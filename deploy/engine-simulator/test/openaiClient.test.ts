import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { MODEL, startTestSimulator, type TestSimulator } from './support/testSimulator.ts';

let simulator: TestSimulator;
let client: OpenAI;
beforeAll(async () => {
  simulator = await startTestSimulator();
  client = new OpenAI({ baseURL: `${simulator.url}/v1`, apiKey: 'unused', maxRetries: 0 });
});
afterAll(() => simulator.close());

const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: '[[sim: text="Bonjour, 世界 🚀"]]' }];

describe('the official client', () => {
  it('reads a whole answer', async () => {
    const { choices, usage } = await client.chat.completions.create({ model: MODEL, messages });
    expect(choices[0]?.message.content).toBe('Bonjour, 世界 🚀');
    expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0));
  });

  it('reads a stream', async () => {
    const stream = client.chat.completions.stream({ model: MODEL, messages, stream_options: { include_usage: true } });
    const final = await stream.finalChatCompletion();
    expect(final.choices[0]).toMatchObject({ message: { content: 'Bonjour, 世界 🚀' }, finish_reason: 'stop' });
    expect(final.usage?.completion_tokens).toBeGreaterThan(3);
  });

  it('runs a tool it was told to call', async () => {
    const given: unknown[] = [];
    const runner = client.chat.completions.runTools({
      model: MODEL,
      stream: true,
      messages: [{ role: 'user', content: 'Weather? [[sim: tool_call=weather]]' }],
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'The weather of a city',
            parameters: { type: 'object', properties: { city: { type: 'string' } } },
            parse: JSON.parse,
            function: (args: unknown) => {
              given.push(args);
              runner.abort();
              return 'sunny';
            },
          },
        },
      ],
    });
    await runner.done().catch(() => {});
    expect(given).toEqual([{ city: expect.any(String) }]);
  });

  it('reads a legacy completion, whole and streamed', async () => {
    const request = { model: MODEL, prompt: '[[sim: text="Bonjour, 世界 🚀"]]' };
    const { choices, usage } = await client.completions.create(request);
    expect(choices[0]).toMatchObject({ text: 'Bonjour, 世界 🚀', finish_reason: 'stop' });
    expect(usage?.completion_tokens).toBeGreaterThan(3);
    let text = '';
    for await (const chunk of await client.completions.create({ ...request, stream: true })) {
      text += chunk.choices[0]?.text ?? '';
    }
    expect(text).toBe('Bonjour, 世界 🚀');
  });

  it('lists the model', async () => {
    const { data } = await client.models.list();
    expect(data.map(({ id }) => id)).toEqual([MODEL]);
  });

  it('gets a typed error for an unknown model', async () => {
    const call = client.chat.completions.create({ model: 'nope', messages });
    await expect(call).rejects.toMatchObject({ status: 404, type: 'NotFoundError', param: 'model' });
  });

  it('notices an error in the middle of a stream', async () => {
    const content = '[[sim: tokens=20 fault=error_event after=3]]';
    const stream = await client.chat.completions.create({
      model: MODEL,
      messages: [{ role: 'user', content }],
      stream: true,
    });
    const read = async () => {
      for await (const _chunk of stream);
    };
    await expect(read()).rejects.toThrow('Internal server error');
  });
});
