import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stack } from '../conformance/support/plainStack.ts';
import { makeAccount } from '../support/makeAccount.ts';
import { answerSteps } from './answers.ts';
import { mediaSteps } from './media.ts';
import { aiSdkClient } from './npm/aiSdkClient.ts';
import { langchainClient } from './npm/langchainClient.ts';
import { openaiClient } from './npm/openaiClient.ts';
import { pythonClients } from './python/pythonClients.ts';
import { refusalSteps } from './refusals.ts';
import { sentenceSteps } from './sentences.ts';

const STEPS = [...answerSteps, ...refusalSteps, ...sentenceSteps, ...mediaSteps];
const isPythonHere = process.env.TURNPIKE_TEST_PYTHON !== undefined;

let opened: Promise<unknown>;
beforeAll(() => {
  opened = Promise.allSettled((isPythonHere ? pythonClients : []).map((client) => client.open?.()));
});
afterAll(async () => {
  await Promise.all(pythonClients.map((client) => client.close?.()));
}, 60_000);

describe.each([
  ...[openaiClient, aiSdkClient, langchainClient].map((client) => ({ client, isHere: true })),
  ...pythonClients.map((client) => ({ client, isHere: isPythonHere })),
])('$client.name', ({ client, isHere }) => {
  const run = isHere ? it : it.skip;
  // One that cannot begin says so at its own first step.
  beforeAll(() => opened, 180_000);

  run.each(STEPS.filter(({ needs }) => !client.lacks?.includes(needs)))('$does', async ({ key, check }) => {
    const account = await makeAccount(stack, key);
    expect.hasAssertions();
    await check({
      client,
      stack,
      account,
      ask: (order, access) =>
        client.obey(order, { baseUrl: stack.baseUrl, apiKey: account.apiKey, maxRetries: 1, ...access }),
    });
  });
});
