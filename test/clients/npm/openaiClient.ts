import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import OpenAI, { toFile } from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { FORECAST, type Message, type Order, tripSchema, type Usage } from '../order.ts';
import { createNpmClient, type Sight } from './createNpmClient.ts';
import { toOpenaiRefusal } from './openaiRefusal.ts';
import { toVector } from './toVector.ts';

type Chat = OpenAI.ChatCompletionCreateParamsNonStreaming;
type Asked<Kind extends Order['do']> = Extract<Order, { do: Kind }>;

/** The fields that reasoning comes in, which the package passes on without knowing them. */
interface Thinking {
  reasoning_content?: string | null;
}

const TOOL: OpenAI.ChatCompletionFunctionTool = {
  type: 'function',
  function: { name: 'forecast', parameters: z.toJSONSchema(tripSchema) },
};

/** `openai`, the package that the public chat API comes with. */
export const openaiClient = createNpmClient({
  name: 'openai (npm)',
  errors: {
    wrongKey: 'AuthenticationError',
    unknownModel: 'NotFoundError',
    insufficientBalance: 'APIError',
    rateLimited: 'RateLimitError',
    promptTooLong: 'BadRequestError',
    unprocessable: 'UnprocessableEntityError',
  },
  async answer(order, { baseUrl, apiKey, maxRetries, fetch }) {
    const openai = new OpenAI({ baseURL: baseUrl, apiKey, fetch, maxRetries });
    switch (order.do) {
      case 'listModels':
        return { models: (await Array.fromAsync(openai.models.list())).map(({ id }) => id) };
      case 'chat':
        return chat(openai, order);
      case 'callTool':
        return callTool(openai, order);
      case 'structure':
        return structure(openai, order);
      case 'embed': {
        const { model, texts: input, encoding: encoding_format } = order;
        const { data, usage } = await openai.embeddings.create({ model, input, encoding_format });
        return { vectors: data.map(({ embedding }) => toVector(embedding)), usages: [toUsage(usage)] };
      }
      case 'draw': {
        const { model, prompt, count: n, as: response_format, size } = order;
        const wanted = { n, response_format, ...(size !== undefined && { size }) };
        const { data = [] } = await openai.images.generate({ model, prompt, ...wanted });
        return { images: data.map(({ b64_json, url }) => b64_json ?? url ?? '') };
      }
      case 'film':
        return { clip: await film(openai, order) };
      case 'speak':
        return { audio: await speak(openai, order) };
      case 'hear': {
        const { model, audio, format: response_format } = order;
        const file = await toFile(Buffer.from(audio, 'base64'), 'speech.wav');
        const heard = await openai.audio.transcriptions.create({ model, file, response_format });
        return { text: typeof heard === 'string' ? heard : heard.text };
      }
    }
  },
  toRefusal(error) {
    if (error instanceof OpenAI.APIError) return toOpenaiRefusal(error);
    throw error;
  },
});

async function chat(openai: OpenAI, order: Asked<'chat'>): Promise<Sight> {
  const { model, messages, stream, seed, maxTokens, leaveAfter } = order;
  const asked: Chat = {
    model,
    messages: messages.map(toMessage),
    ...(seed !== undefined && { seed }),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
  };
  return stream ? readStream(openai, asked, leaveAfter) : toSight(await openai.chat.completions.create(asked));
}

/** This package has nothing that waits for a clip, but keeps to what an answer says of the next look. */
async function film(openai: OpenAI, { model, prompt, seconds }: Asked<'film'>): Promise<NonNullable<Sight['clip']>> {
  const { id } = await openai.videos.create({
    model: model as OpenAI.VideoModel,
    prompt,
    seconds: seconds as OpenAI.VideoSeconds,
  });
  for (;;) {
    const { data, response } = await openai.videos.retrieve(id).withResponse();
    if (data.status === 'queued' || data.status === 'in_progress') {
      await delay(Number(response.headers.get('openai-poll-after-ms')));
      continue;
    }
    const content = await openai.videos.downloadContent(id);
    const bytes = Buffer.from(await content.arrayBuffer()).toString('base64');
    const listed = (await Array.fromAsync(openai.videos.list({ limit: 1 }))).map((video) => video.id);
    const { deleted } = await openai.videos.delete(id);
    const errorAfterwards = await openai.videos.retrieve(id).then(
      () => 'none',
      (error: Error) => error.constructor.name,
    );
    return { status: data.status, bytes, listed, deleted, errorAfterwards };
  }
}

async function speak(openai: OpenAI, { model, text, voice, format }: Asked<'speak'>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-speech-'));
  try {
    const file = join(folder, 'speech');
    const { body } = await openai.audio.speech.create({ model, input: text, voice, response_format: format });
    if (!body) throw new Error('an answer without audio');
    await writeFile(file, body);
    return await readFile(file, 'base64');
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function readStream(openai: OpenAI, asked: Chat, leaveAfter = Number.POSITIVE_INFINITY): Promise<Sight> {
  const chunks = await openai.chat.completions.create({
    ...asked,
    stream: true,
    stream_options: { include_usage: true },
  });
  const sight = { text: '', reasoning: '', pieces: 0 };
  const ending: Sight = {};
  for await (const { choices, usage } of chunks) {
    const delta: Partial<OpenAI.ChatCompletionChunk.Choice.Delta & Thinking> = choices[0]?.delta ?? {};
    sight.reasoning += delta.reasoning_content ?? '';
    sight.text += delta.content ?? '';
    if (delta.content) sight.pieces += 1;
    if (choices[0]?.finish_reason) ending.finishReason = choices[0].finish_reason;
    if (usage) ending.usages = [toUsage(usage)];
    if (sight.pieces === leaveAfter) break;
  }
  return { ...sight, ...ending };
}

async function callTool(openai: OpenAI, { model, question, stream }: Asked<'callTool'>): Promise<Sight> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: question }];
  const ask = (tool_choice: 'required' | 'auto') => {
    const asked = { model, messages, tools: [TOOL], tool_choice };
    if (!stream) return openai.chat.completions.create(asked);
    return openai.chat.completions.stream({ ...asked, stream_options: { include_usage: true } }).finalChatCompletion();
  };
  const first = await ask('required');
  const message = first.choices[0]?.message;
  if (!message) throw new Error('an answer without a choice');
  const calls = (message.tool_calls ?? []).filter((call) => call.type === 'function');
  messages.push(message, ...calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: FORECAST })));
  const last = await ask('auto');
  return {
    ...toSight(last),
    toolCalls: calls.map(({ function: called }) => ({ name: called.name, arguments: JSON.parse(called.arguments) })),
    usages: [toUsage(first.usage), toUsage(last.usage)],
  };
}

async function structure(openai: OpenAI, { model, question }: Asked<'structure'>): Promise<Sight> {
  const answer = await openai.chat.completions.parse({
    model,
    messages: [{ role: 'user', content: question }],
    response_format: zodResponseFormat(tripSchema, 'trip'),
  });
  return { ...toSight(answer), value: answer.choices[0]?.message.parsed };
}

function toMessage({ role, text, imageUrl }: Message): OpenAI.ChatCompletionMessageParam {
  if (role !== 'user' || imageUrl === undefined) return { role, content: text };
  return {
    role,
    content: [
      { type: 'text', text },
      { type: 'image_url', image_url: { url: imageUrl } },
    ],
  };
}

function toSight({ choices, usage }: OpenAI.ChatCompletion): Sight {
  const [choice] = choices;
  const message: (OpenAI.ChatCompletionMessage & Thinking) | undefined = choice?.message;
  return {
    text: message?.content ?? '',
    reasoning: message?.reasoning_content ?? '',
    usages: [toUsage(usage)],
    ...(choice && { finishReason: choice.finish_reason }),
  };
}

function toUsage(usage: OpenAI.CompletionUsage | OpenAI.CreateEmbeddingResponse.Usage | undefined): Usage {
  if (!usage) throw new Error('an answer without usage');
  const { prompt_tokens, total_tokens } = usage;
  const details = 'prompt_tokens_details' in usage ? usage.prompt_tokens_details : undefined;
  return {
    prompt_tokens,
    completion_tokens: 'completion_tokens' in usage ? usage.completion_tokens : 0,
    total_tokens,
    cache_read_input_tokens: details?.cached_tokens ?? 0,
  };
}
