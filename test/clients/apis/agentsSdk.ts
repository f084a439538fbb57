import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents';
import OpenAI from 'openai';
import { createNodeClient, NOTED, noteSchema } from './apiClient.ts';

/** The OpenAI Agents SDK, which speaks Responses by default. Its traces would go to another server. */
export const agentsSdk = createNodeClient(
  'Agents SDK (npm)',
  async ({ do: kind, model, prompt, stream }, { baseUrl, apiKey, fetch }) => {
    const openAIClient = new OpenAI({ baseURL: baseUrl, apiKey, fetch, maxRetries: 0 });
    const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient }), tracingDisabled: true });
    const notes: string[] = [];
    const note = tool({
      name: 'note',
      description: 'Writes a text down.',
      parameters: noteSchema,
      async execute({ text }) {
        notes.push(text);
        return NOTED;
      },
    });
    const agent = new Agent({ name: 'Tester', model, tools: kind === 'work' ? [note] : [] });
    const options = { maxTurns: 8 };
    const result = stream
      ? await runner.run(agent, prompt, { ...options, stream: true })
      : await runner.run(agent, prompt, options);
    if ('completed' in result) await result.completed;
    const tokens = { input: 0, output: 0 };
    for (const { usage } of result.rawResponses) {
      tokens.input += usage.inputTokens;
      tokens.output += usage.outputTokens;
    }
    return { text: String(result.finalOutput), notes, tokens };
  },
);
