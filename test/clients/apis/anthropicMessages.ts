import Anthropic from '@anthropic-ai/sdk';
import { createNodeClient, type Job, NOTE_PARAMETERS, NOTED, noteSchema, type Result } from './apiClient.ts';

const NOTE: Anthropic.Tool = {
  name: 'note',
  input_schema: { ...NOTE_PARAMETERS, required: [...NOTE_PARAMETERS.required] },
};

/** `@anthropic-ai/sdk`, whose base address has no `/v1`. */
export const anthropicMessages = createNodeClient('Anthropic SDK (npm)', (job, { baseUrl, apiKey, fetch }) =>
  work(new Anthropic({ baseURL: baseUrl.replace(/\/v1$/, ''), apiKey, fetch, maxRetries: 0 }), job),
);

/** Calls until the model calls no tool any more. */
async function work(anthropic: Anthropic, { do: kind, model, prompt, stream }: Job): Promise<Result> {
  const tools = kind === 'work' ? { tools: [NOTE] } : {};
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: prompt }];
  const tokens = { input: 0, output: 0 };
  const notes: string[] = [];
  for (;;) {
    const asked = { model, max_tokens: 1_000, messages, ...tools };
    const { content, usage } = stream
      ? await anthropic.messages.stream(asked).finalMessage()
      : await anthropic.messages.create(asked);
    tokens.input +=
      usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);
    tokens.output += usage.output_tokens;
    const calls = content.filter((block) => block.type === 'tool_use');
    const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    if (calls.length === 0) return { text, notes, tokens };
    notes.push(...calls.map(({ input }) => noteSchema.parse(input).text));
    messages.push({ role: 'assistant', content });
    messages.push({
      role: 'user',
      content: calls.map(({ id }) => ({ type: 'tool_result' as const, tool_use_id: id, content: NOTED })),
    });
  }
}
