import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stack } from '../../conformance/support/plainStack.ts';
import { type Account, makeAccount } from '../../support/makeAccount.ts';
import { tripSchema } from '../order.ts';
import { headersOf } from '../step.ts';
import { agentsSdk } from './agentsSdk.ts';
import { aiSdkMessages, aiSdkResponses } from './aiSdkApis.ts';
import { anthropicMessages } from './anthropicMessages.ts';
import type { ApiClient, Job, JobSeen } from './apiClient.ts';
import { openaiResponses } from './openaiResponses.ts';
import { pythonApiClients } from './pythonApis.ts';

// Clients of the Responses API and of the Messages API: a text, a job of three calls, and refusals.

const MODEL = 'qwen3-coder-30b-a3b-instruct';
const AT_ONCE = 'ttft_ms=0 itl_ms=0';
const SAYING = 'Zürich, 天気 and \\"quotes\\" 👩‍👩‍👧‍👦';
const NOTES = ['one', 'zwei «2»', '三 "drei"'];

const quoted = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('"', '\\"');
const WORK = [
  ...NOTES.map((text, turn) => {
    const input = JSON.stringify({ text });
    return `[[sim: turn=${turn + 1} ${AT_ONCE} text="Let me note it." tool_call=note tool_arguments="${quoted(input)}"]]`;
  }),
  `[[sim: turn=4 ${AT_ONCE} text="all is noted"]]`,
].join(' ');

/** Asserts that each call is in a row, with as many tokens in all as the client counts. */
async function expectAllBilled(account: Account, { calls, tokens }: JobSeen, count: number): Promise<void> {
  expect(calls.map(({ status }) => status)).toEqual(Array(count).fill(200));
  const rows = await Promise.all(calls.map((call) => account.untilUsage(headersOf(call))));
  expect(tokens).toEqual({
    input: rows.reduce((sum, { prompt_tokens }) => sum + (prompt_tokens ?? 0), 0),
    output: rows.reduce((sum, { completion_tokens }) => sum + (completion_tokens ?? 0), 0),
  });
}

function testApi(client: ApiClient, { isHere }: { isHere: boolean }): void {
  const ask = (account: Pick<Account, 'apiKey'>, job: Partial<Job> & Pick<Job, 'prompt'>) =>
    client.obey(
      { do: 'say', model: MODEL, stream: false, ...job },
      { baseUrl: stack.baseUrl, apiKey: account.apiKey, maxRetries: 0 },
    );

  describe(client.name, () => {
    const run = isHere ? it : it.skip;
    beforeAll(() => (isHere ? client.open?.() : undefined), 180_000);
    afterAll(() => client.close?.(), 60_000);

    run.each([false, true])('shows exactly the words of an answer, streamed: %s', async (stream) => {
      const account = await makeAccount(stack);
      const seen = await ask(account, { prompt: `hi [[sim: text="${SAYING}" ${AT_ONCE}]]`, stream });
      expect(seen.text).toBe(SAYING.replaceAll('\\', ''));
      await expectAllBilled(account, seen, 1);
    });

    run.each([false, true])('does a job of three calls of a tool, streamed: %s', async (stream) => {
      const account = await makeAccount(stack);
      const seen = await ask(account, { do: 'work', prompt: `Note it. ${WORK}`, stream });
      expect(seen).toMatchObject({ notes: NOTES, text: 'all is noted' });
      await expectAllBilled(account, seen, 4);
    });

    (client.canParse ? run : it.skip)('gets an object that is valid by its schema', async () => {
      const account = await makeAccount(stack);
      const seen = await ask(account, { do: 'parse', prompt: `Où ? [[sim: ${AT_ONCE}]]` });
      expect(tripSchema.parse(seen.value)).toEqual(seen.value);
      await expectAllBilled(account, seen, 1);
    });

    run.each([false, true])('shows the sentence of each refusal, streamed: %s', async (stream) => {
      const workspaceId = await stack.operator.makeWorkspace({ creditUsd: '0.000001' });
      const [poor, account, hurried] = await Promise.all([
        makeAccount(stack, { workspaceId }),
        makeAccount(stack),
        makeAccount(stack, { rpm: 1 }),
      ]);
      const prompt = `hi [[sim: tokens=2 ${AT_ONCE}]]`;
      expect(await ask(poor, { prompt, stream })).toMatchObject({
        calls: [{ status: 402 }],
        refusal: { status: 402, message: expect.stringContaining('This request could cost up to') },
      });
      expect(await ask(account, { prompt, stream, model: 'nobody-knows-it' })).toMatchObject({
        calls: [{ status: 404 }],
        refusal: { status: 404, message: expect.stringContaining('No such model here') },
      });
      await ask(hurried, { prompt });
      expect(await ask(hurried, { prompt, stream })).toMatchObject({
        calls: [{ status: 429 }],
        refusal: { status: 429, message: expect.stringContaining('Rate limit reached: 1 requests per minute') },
      });
    });
  });
}

for (const client of [openaiResponses, anthropicMessages, aiSdkResponses, aiSdkMessages, agentsSdk])
  testApi(client, { isHere: true });
for (const client of pythonApiClients) testApi(client, { isHere: process.env.TURNPIKE_TEST_PYTHON !== undefined });
