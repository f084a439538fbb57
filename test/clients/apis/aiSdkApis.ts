import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, isStepCount, type LanguageModel, Output, streamText, tool } from 'ai';
import { tripSchema } from '../order.ts';
import { createNodeClient, type Job, NOTED, noteSchema, type Result } from './apiClient.ts';

/** The AI SDK with the provider of `openai`, which speaks Responses by default. */
export const aiSdkResponses = createNodeClient(
  'AI SDK (npm), createOpenAI',
  (job, { baseUrl: baseURL, apiKey, fetch }) => work(createOpenAI({ baseURL, apiKey, fetch })(job.model), job),
  { canParse: true },
);

/** The AI SDK with the provider of Anthropic, which speaks Messages. */
export const aiSdkMessages = createNodeClient(
  'AI SDK (npm), createAnthropic',
  (job, { baseUrl: baseURL, apiKey, fetch }) => work(createAnthropic({ baseURL, apiKey, fetch })(job.model), job),
);

async function work(model: LanguageModel, { do: kind, prompt, stream }: Job): Promise<Result> {
  const notes: string[] = [];
  const note = tool({
    inputSchema: noteSchema,
    async execute({ text }) {
      notes.push(text);
      return NOTED;
    },
  });
  const asked = {
    model,
    prompt,
    maxRetries: 0,
    maxOutputTokens: 1_000,
    stopWhen: isStepCount(8),
    // Otherwise the SDK refers to items by id, as if the service had kept them.
    providerOptions: { openai: { store: false } },
    ...(kind === 'work' && { tools: { note } }),
  };
  if (kind === 'parse') {
    const { output, text, totalUsage } = await generateText({
      ...asked,
      output: Output.object({ schema: tripSchema }),
    });
    return { text, value: output, tokens: toTokens(totalUsage) };
  }
  const { text, totalUsage } = stream ? await readStream(asked) : await generateText(asked);
  return { text, notes, tokens: toTokens(totalUsage) };
}

async function readStream(asked: Parameters<typeof streamText>[0]) {
  const result = streamText({ ...asked, onError: () => undefined });
  for await (const part of result.fullStream) if (part.type === 'error') throw part.error;
  return { text: await result.text, totalUsage: await result.totalUsage };
}

const toTokens = ({ inputTokens = 0, outputTokens = 0 }): Result['tokens'] => ({
  input: inputTokens,
  output: outputTokens,
});
