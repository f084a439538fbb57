import { describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { z } from 'zod';
import { expectBilled, expectNotAdmitted, expectUnbilled } from '../support/expectBilled.ts';
import { makeCaller } from '../support/makeCaller.ts';
import { rejectionOf } from '../support/rejectionOf.ts';
import { setKnobs } from '../support/setKnobs.ts';
import { caller, stack } from './plainStack.ts';

type ToolChoice = OpenAI.ChatCompletionToolChoiceOption;

const MODEL = 'llama-3.3-70b-instruct';
const MODEL_WITHOUT_TOOLS = 'deepseek-r1-0528';
const PARAMETERS = {
  type: 'object',
  properties: { city: { type: 'string', minLength: 40 }, days: { type: 'integer', minimum: 1, maximum: 7 } },
  required: ['city', 'days'],
  additionalProperties: false,
};
const TOOLS: OpenAI.ChatCompletionFunctionTool[] = ['forecast', 'history'].map((name) => ({
  type: 'function',
  function: { name, description: `Weather ${name}, « où » 天気`, parameters: PARAMETERS },
}));
const argumentsSchema = z.fromJSONSchema(PARAMETERS as z.core.JSONSchema.JSONSchema);

const aChat = (directives: string, choice?: ToolChoice) => ({
  model: MODEL,
  messages: [{ role: 'user' as const, content: `Quel temps ? [[sim: ttft_ms=0 itl_ms=0 ${directives}]]` }],
  tools: TOOLS,
  ...(choice !== undefined && { tool_choice: choice }),
});
const named = (name: string): ToolChoice => ({ type: 'function', function: { name } });

const callsOf = ({ choices }: OpenAI.ChatCompletion) =>
  (choices[0]?.message.tool_calls ?? []).map((call) => {
    if (call.type !== 'function') throw new Error(`a call of type ${call.type}`);
    return {
      id: call.id,
      name: call.function.name,
      arguments: argumentsSchema.parse(JSON.parse(call.function.arguments)),
    };
  });

const HOW_CALLED: [string, string, ToolChoice | undefined, string[]][] = [
  ['of the model’s own choice', 'tool_call=history', undefined, ['history']],
  ['of its own choice, several at once', 'tool_call=history tool_call=forecast', 'auto', ['history', 'forecast']],
  ['because one is required', '', 'required', ['forecast']],
  ['because one is named', '', named('history'), ['history']],
];

describe.each(HOW_CALLED)('a tool call made %s', (_how, directives, choice, names) => {
  it('comes whole with arguments that are valid by the schema, and is billed', async () => {
    const { data, response } = await caller.openai.chat.completions.create(aChat(directives, choice)).withResponse();

    const calls = callsOf(data);
    expect(calls.map(({ name }) => name)).toEqual(names);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(names.length);
    expect(data.choices[0]?.finish_reason).toBe('tool_calls');
    expect(data.choices[0]?.message.content).toBeNull();
    await expectBilled(caller, { headers: response.headers, model: MODEL, usage: data.usage });
  });

  it('comes in pieces that make up the same call, and is billed the same', async () => {
    const whole = await (await makeCaller(stack)).openai.chat.completions.create(aChat(directives, choice));
    const { data: stream, response } = await caller.openai.chat.completions
      .create({ ...aChat(directives, choice), stream: true, stream_options: { include_usage: true } })
      .withResponse();
    const chunks = await Array.fromAsync(stream);

    const deltas = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    expect(deltas.length).toBeGreaterThan(2 * names.length);
    expect(chunks.flatMap(({ choices }) => choices[0]?.finish_reason ?? [])).toEqual(['tool_calls']);
    const firsts = names.map((_, index) => deltas.find((delta) => delta.index === index));
    expect(firsts).toMatchObject(
      names.map((name) => ({ id: expect.stringMatching(/./), type: 'function', function: { name } })),
    );
    const joined = names.map((_, index) => {
      const pieces = deltas.filter((delta) => delta.index === index);
      const textOf = (pick: (delta: (typeof pieces)[number]) => string | undefined) =>
        pieces.map((piece) => pick(piece) ?? '').join('');
      return { name: textOf((piece) => piece.function?.name), arguments: textOf((piece) => piece.function?.arguments) };
    });
    const wholeCalls = whole.choices[0]?.message.tool_calls ?? [];
    expect(joined).toEqual(wholeCalls.map((call) => call.type === 'function' && call.function));
    await expectBilled(caller, { headers: response.headers, model: MODEL, usage: whole.usage });
  });
});

it.each([false, true])(
  'a call that its engine gives no id has one all the same, the same in all its parts, stream: %s',
  async (stream) => {
    await setKnobs(stack, { toolIds: 'missing' });
    const asked = aChat('tool_call=history tool_call=forecast');
    try {
      const ids = stream
        ? await streamedIds(await caller.openai.chat.completions.create({ ...asked, stream }))
        : callsOf(await caller.openai.chat.completions.create({ ...asked, stream })).map(({ id }) => id);

      expect(ids).toEqual([expect.stringMatching(/^call_/), expect.stringMatching(/^call_/)]);
      expect(new Set(ids).size).toBe(2);
    } finally {
      await setKnobs(stack, { toolIds: 'present' });
    }
  },
);

/** Every id in a stream's tool calls. */
async function streamedIds(stream: AsyncIterable<OpenAI.ChatCompletionChunk>): Promise<string[]> {
  const chunks = await Array.fromAsync(stream);
  return chunks.flatMap(({ choices }) => (choices[0]?.delta.tool_calls ?? []).flatMap(({ id }) => id ?? []));
}

it.each([
  { wanted: 'one is required', choice: 'required' as const },
  { wanted: 'one is named', choice: named('forecast') },
])('a tool that is not called although $wanted is a 400, whole and streamed, and costs nothing', async ({ choice }) => {
  for (const stream of [false, true]) {
    const error = await rejectionOf(
      caller.openai.chat.completions.create({ ...aChat('no_tool_call tokens=30', choice), stream }),
    );

    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error).toMatchObject({ status: 400, type: 'invalid_request_error', param: 'tool_choice', code: null });
    await expectUnbilled(caller, error.headers);
  }
});

it('a text in place of a call is an answer where the choice was the model’s, and costs what it has', async () => {
  const { data, response } = await caller.openai.chat.completions.create(aChat('no_tool_call')).withResponse();

  expect(data.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: expect.stringMatching(/./) } });
  await expectBilled(caller, { headers: response.headers, model: MODEL, usage: data.usage });
});

it('what a tool answered goes back into the conversation', async () => {
  const asked = aChat('tool_call=history');
  const { choices } = await caller.openai.chat.completions.create(asked);
  const message = choices[0]?.message;
  if (!message) throw new Error('no message');
  const toolMessages = (message.tool_calls ?? []).map(({ id }) => ({
    role: 'tool' as const,
    tool_call_id: id,
    content: '{"rain": true}',
  }));

  const answer = await caller.openai.chat.completions.create({
    ...asked,
    messages: [...asked.messages, message, ...toolMessages, { role: 'user', content: 'So? [[sim: text="Il pleut."]]' }],
  });

  expect(answer.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'Il pleut.' } });
});

it('tools are refused with 400, param tools, by a model that does not take them', async () => {
  const error = await rejectionOf(
    caller.openai.chat.completions.create({ ...aChat('tokens=5'), model: MODEL_WITHOUT_TOOLS }),
  );

  expect(error).toMatchObject({ status: 400, type: 'invalid_request_error', param: 'tools', code: null });
  await expectNotAdmitted(caller, error.headers);
});
