import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { tripSchema } from '../order.ts';
import { createNodeClient, type Job, NOTE_PARAMETERS, NOTED, type Result, readNote } from './apiClient.ts';

const NOTE: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'note',
  strict: true,
  parameters: NOTE_PARAMETERS,
};

/** `openai` of npm by its Responses API. */
export const openaiResponses = createNodeClient(
  'openai (npm), Responses',
  async (job, { baseUrl, apiKey, fetch }) => {
    const openai = new OpenAI({ baseURL: baseUrl, apiKey, fetch, maxRetries: 0 });
    return job.do === 'parse' ? parse(openai, job) : work(openai, job);
  },
  { canParse: true },
);

async function parse(openai: OpenAI, { model, prompt }: Job): Promise<Result> {
  const format = zodTextFormat(tripSchema, 'trip');
  const response = await openai.responses.parse({ model, input: prompt, text: { format } });
  return { text: response.output_text, value: response.output_parsed, tokens: toTokens([response]) };
}

/** Calls until the model calls no tool any more. */
async function work(openai: OpenAI, { do: kind, model, prompt, stream }: Job): Promise<Result> {
  const tools = kind === 'work' ? { tools: [NOTE] } : {};
  const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: prompt }];
  const responses: OpenAI.Responses.Response[] = [];
  const notes: string[] = [];
  for (;;) {
    const asked = { model, input, ...tools };
    const response = stream
      ? await openai.responses.stream(asked).finalResponse()
      : await openai.responses.create(asked);
    responses.push(response);
    const output: OpenAI.Responses.ResponseOutputItem[] = response.output;
    const calls = output.filter((item) => item.type === 'function_call');
    if (calls.length === 0) return { text: response.output_text, notes, tokens: toTokens(responses) };
    notes.push(...calls.map((call) => readNote(call.arguments)));
    // The whole answer goes back, as nothing is kept.
    input.push(...(output as OpenAI.Responses.ResponseInputItem[]));
    input.push(...calls.map(({ call_id }) => ({ type: 'function_call_output' as const, call_id, output: NOTED })));
  }
}

const toTokens = (responses: readonly OpenAI.Responses.Response[]): Result['tokens'] => ({
  input: responses.reduce((sum, { usage }) => sum + (usage?.input_tokens ?? 0), 0),
  output: responses.reduce((sum, { usage }) => sum + (usage?.output_tokens ?? 0), 0),
});
