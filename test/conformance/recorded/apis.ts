import { expect } from '@jest/globals';
import { makeAccount } from '../../support/makeAccount.ts';
import { engine, MODEL, stack } from '../support/recordedStack.ts';
import { row } from '../support/row.ts';

const QUESTION = 'Quel temps ? 天気 😀';
const THOUGHT = 'It asks for the weather.';
const ARGUMENTS = '{"city": "Zürich"}';
const RESULT = '{"rain": true}';
const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const TOOL = { name: 'forecast', description: 'Of the weather.' };
const SAMPLING = { temperature: 0.5, top_p: 0.9 };

/** One conversation with a call of a tool, as each API says it. */
const CONVERSATION = {
  '/chat/completions': {
    model: MODEL,
    max_completion_tokens: 64,
    ...SAMPLING,
    messages: [
      { role: 'system', content: 'Sei höflich.' },
      { role: 'user', content: QUESTION },
      {
        role: 'assistant',
        content: [{ type: 'text', text: 'I look.' }],
        reasoning: THOUGHT,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'forecast', arguments: ARGUMENTS } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: RESULT },
    ],
    tools: [{ type: 'function', function: { ...TOOL, parameters: PARAMETERS } }],
    tool_choice: 'required',
    parallel_tool_calls: false,
  },
  '/responses': {
    model: MODEL,
    max_output_tokens: 64,
    ...SAMPLING,
    instructions: 'Sei höflich.',
    input: [
      { role: 'user', content: QUESTION },
      { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: THOUGHT }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I look.' }] },
      { type: 'function_call', call_id: 'call_1', name: 'forecast', arguments: ARGUMENTS },
      { type: 'function_call_output', call_id: 'call_1', output: RESULT },
    ],
    tools: [{ type: 'function', ...TOOL, parameters: PARAMETERS }],
    tool_choice: 'required',
    parallel_tool_calls: false,
  },
  '/messages': {
    model: MODEL,
    max_tokens: 64,
    ...SAMPLING,
    system: 'Sei höflich.',
    messages: [
      { role: 'user', content: QUESTION },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: THOUGHT, signature: 'unsigned' },
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'call_1', name: 'forecast', input: 'INPUT' },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: RESULT }] },
    ],
    tools: [{ ...TOOL, input_schema: PARAMETERS }],
    tool_choice: { type: 'any', disable_parallel_tool_use: true },
  },
};

row('apis.one-request', async () => {
  const account = await makeAccount(stack);
  const seen = [];
  for (const [path, body] of Object.entries(CONVERSATION)) {
    // The input of a call is an object in this API, and reaches the engine as its client wrote it.
    const response = await account.post(path, JSON.stringify(body).replace('"INPUT"', ARGUMENTS));
    expect({ path, answer: `${response.status} ${await response.text()}` }).toEqual({
      path,
      answer: expect.stringMatching(/^200 /),
    });
    const record = await account.untilUsage(response.headers);
    const { canonical_model, prompt_tokens, completion_tokens, total_tokens, total_spend } = record;
    seen.push({
      row: { status: record.status, canonical_model, prompt_tokens, completion_tokens, total_tokens, total_spend },
      request: engine.lastBody(),
    });
  }
  expect(seen[0]?.row.total_spend).toBeGreaterThan(0);
  expect(seen).toEqual([seen[0], seen[0], seen[0]]);
});
