import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  APICallError,
  embedMany,
  generateImage,
  generateSpeech,
  generateText,
  isStepCount,
  type LanguageModel,
  type LanguageModelUsage,
  type ModelMessage,
  Output,
  RetryError,
  streamText,
  tool,
  transcribe,
} from 'ai';
import { FORECAST, type Message, type Order, tripSchema, type Usage } from '../order.ts';
import { createNpmClient, type Sight } from './createNpmClient.ts';

/** The beginning of every call. */
interface How {
  model: LanguageModel;
  maxRetries: number;
}

type Asked<Kind extends Order['do']> = Extract<Order, { do: Kind }>;

/** The AI SDK with its provider for servers of the public chat API, and for audio with the provider of `openai`. */
export const aiSdkClient = createNpmClient({
  name: 'AI SDK (npm)',
  errors: {
    wrongKey: 'AI_APICallError',
    unknownModel: 'AI_APICallError',
    insufficientBalance: 'AI_APICallError',
    rateLimited: 'AI_APICallError',
    promptTooLong: 'AI_APICallError',
    unprocessable: 'AI_APICallError',
  },
  lacks: ['listModels', 'base64', 'film', 'clips', 'image addresses', 'subtitles'],
  async answer(order, { baseUrl, apiKey, maxRetries, fetch }) {
    const provider = createOpenAICompatible({
      name: 'turnpike',
      baseURL: baseUrl,
      apiKey,
      fetch,
      includeUsage: true,
      supportsStructuredOutputs: true,
    });
    const audioOf = createOpenAI({ baseURL: baseUrl, apiKey, fetch });
    switch (order.do) {
      case 'listModels':
        throw new Error('the AI SDK does not list models');
      case 'film':
        throw new Error('no provider of the AI SDK for this API makes clips');
      case 'draw': {
        const { model, prompt, count: n, size } = order;
        const wanted = { n, ...(size !== undefined && { size: size as `${number}x${number}` }) };
        const { images } = await generateImage({ maxRetries, model: provider.imageModel(model), prompt, ...wanted });
        return { images: images.map(({ base64 }) => base64) };
      }
      case 'speak': {
        const { text, voice, format: outputFormat } = order;
        const { audio } = await generateSpeech({
          maxRetries,
          model: audioOf.speech(order.model),
          text,
          voice,
          outputFormat,
        });
        return { audio: audio.base64 };
      }
      case 'hear': {
        const { audio, format: responseFormat } = order;
        const providerOptions = { openai: { responseFormat } };
        const model = audioOf.transcription(order.model);
        return { text: (await transcribe({ maxRetries, model, audio, providerOptions })).text };
      }
      case 'chat':
        return chat({ model: provider(order.model), maxRetries }, order);
      case 'callTool':
        return callTool({ model: provider(order.model), maxRetries }, order);
      case 'structure': {
        const { output, usage, finishReason } = await generateText({
          maxRetries,
          model: provider(order.model),
          prompt: order.question,
          output: Output.object({ schema: tripSchema }),
        });
        return { value: output, usages: [toUsage(usage)], finishReason };
      }
      case 'embed': {
        const model = provider.embeddingModel(order.model);
        const { embeddings, usage } = await embedMany({ maxRetries, model, values: order.texts });
        return { vectors: embeddings, usages: [toUsage({ inputTokens: usage.tokens, totalTokens: usage.tokens })] };
      }
    }
  },
  toRefusal(error) {
    const last = RetryError.isInstance(error) ? error.lastError : error;
    if (!APICallError.isInstance(last)) throw error;
    const { message, statusCode, responseHeaders, responseBody = '{}' } = last;
    const retryAfter = responseHeaders?.['retry-after'];
    const sentence = responseHeaders?.['x-error-message'];
    const param = responseHeaders?.['x-error-param'];
    const body = JSON.parse(responseBody) as { error?: { provider_specific_fields?: { did_you_mean?: string[] } } };
    const didYouMean = body.error?.provider_specific_fields?.did_you_mean;
    return {
      errorName: (error as Error).name,
      message,
      ...(statusCode !== undefined && { status: statusCode }),
      ...(sentence && { sentence }),
      ...(param && { param }),
      ...(retryAfter && { retryAfter }),
      ...(didYouMean && { didYouMean }),
    };
  },
});

async function chat(how: How, order: Asked<'chat'>): Promise<Sight> {
  const { messages, stream, seed, maxTokens, leaveAfter = Number.POSITIVE_INFINITY } = order;
  const instructions = messages.find(({ role }) => role === 'system')?.text;
  const leaving = new AbortController();
  const asked = {
    ...how,
    messages: messages.filter(({ role }) => role !== 'system').map(toMessage),
    abortSignal: leaving.signal,
    ...(instructions !== undefined && { instructions }),
    ...(seed !== undefined && { seed }),
    ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
  };
  if (!stream) {
    const { text, reasoningText = '', finishReason, usage } = await generateText(asked);
    return { text, reasoning: reasoningText, finishReason, usages: [toUsage(usage)] };
  }
  const sight = { text: '', reasoning: '', pieces: 0 };
  const ending: Sight = {};
  for await (const part of streamText({ ...asked, onError: () => undefined }).fullStream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'text-delta') {
      sight.text += part.text;
      sight.pieces += 1;
    }
    if (part.type === 'reasoning-delta') sight.reasoning += part.text;
    if (part.type === 'finish') {
      ending.finishReason = part.finishReason;
      ending.usages = [toUsage(part.totalUsage)];
    }
    if (sight.pieces === leaveAfter) leaving.abort();
  }
  return { ...sight, ...ending };
}

async function callTool(how: How, { question, stream }: Asked<'callTool'>): Promise<Sight> {
  const asked = {
    ...how,
    prompt: question,
    tools: { forecast: tool({ inputSchema: tripSchema, execute: async () => JSON.parse(FORECAST) }) },
    stopWhen: isStepCount(2),
    prepareStep: ({ stepNumber }: { stepNumber: number }) => ({
      toolChoice: stepNumber === 0 ? ('required' as const) : ('auto' as const),
    }),
  };
  const { steps, text, finishReason } = stream ? await readSteps(asked) : await generateText(asked);
  return {
    text,
    finishReason,
    toolCalls: steps.flatMap(({ toolCalls }) =>
      toolCalls.map(({ toolName, input }) => ({ name: toolName, arguments: input })),
    ),
    usages: steps.map(({ usage }) => toUsage(usage)),
  };
}

async function readSteps(asked: Parameters<typeof streamText>[0]) {
  const { steps, text, finishReason } = streamText(asked);
  return { steps: await steps, text: await text, finishReason: await finishReason };
}

function toMessage({ role, text, imageUrl }: Message): ModelMessage {
  if (role !== 'user' || imageUrl === undefined) return { role, content: text };
  return {
    role,
    content: [
      { type: 'text', text },
      { type: 'file', mediaType: 'image/png', data: imageUrl },
    ],
  };
}

type SeenUsage = Pick<LanguageModelUsage, 'inputTokens' | 'totalTokens'> & Partial<LanguageModelUsage>;

function toUsage({ inputTokens = 0, outputTokens = 0, totalTokens = 0, inputTokenDetails }: SeenUsage): Usage {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: totalTokens,
    cache_read_input_tokens: inputTokenDetails?.cacheReadTokens ?? 0,
  };
}
