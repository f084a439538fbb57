import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stack } from '../conformance/support/plainStack.ts';
import { makeAccount } from '../support/makeAccount.ts';
import { answerSteps } from './answers.ts';
import type { Client } from './client.ts';
import { mediaSteps } from './media.ts';
import { refusalSteps } from './refusals.ts';
import { sentenceSteps } from './sentences.ts';

const STEPS = [...answerSteps, ...refusalSteps, ...sentenceSteps, ...mediaSteps];

/** Runs one client library through every step that it can do. */
export function testClient(client: Client, { isHere }: { isHere: boolean }): void {
  describe(client.name, () => {
    const run = isHere ? it : it.skip;
    beforeAll(() => (isHere ? client.open?.() : undefined), 180_000);
    afterAll(() => client.close?.(), 60_000);

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
}
