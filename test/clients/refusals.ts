import { expect } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { expectNotAdmitted, expectUnbilled } from '../support/expectBilled.ts';
import type { Order } from './order.ts';
import { headersOf, type Step } from './step.ts';

const MODEL = 'llama-3.3-70b-instruct';
const SMALL_WINDOW_MODEL = 'qwen3-32b';
const SMALL_WINDOW_TOKENS = 40_960;

/** Ten a second: so a call that took a few too many is waited for a moment. */
const TOKENS_PER_MINUTE = 600;
const AT_ONCE = 'ttft_ms=0 itl_ms=0';

const aChat = (text: string, fields: { model?: string; maxTokens?: number; stream?: boolean } = {}): Order => ({
  do: 'chat',
  model: MODEL,
  messages: [{ role: 'user', text }],
  stream: false,
  ...fields,
});

/** Steps of calls that are refused and cost nothing. No client repeats a call that would fail again. */
export const refusalSteps: Step[] = [
  {
    does: 'takes a mistyped key for what it is',
    needs: 'chat',
    async check({ client, account, ask }) {
      const { apiKey } = account;
      const mistyped = apiKey.slice(0, -1) + (apiKey.at(-1) === 'a' ? 'b' : 'a');
      const { calls, refusal } = await ask(aChat('hi'), { apiKey: mistyped });
      expect(refusal).toMatchObject({ errorName: client.errors.wrongKey, status: 401 });
      expect(calls.map(({ status }) => status)).toEqual([401]);
      expect(await account.findSpend()).toBe(0n);
    },
  },
  ...[false, true].map(
    (stream): Step => ({
      does: `is told what model was meant, ${stream ? 'streamed' : 'whole'}`,
      needs: 'chat',
      async check({ client, account, ask }) {
        const { calls, refusal } = await ask(aChat('hi', { model: `${MODEL.slice(0, -1)}k`, stream }));
        expect(refusal).toMatchObject({ errorName: client.errors.unknownModel, status: 404 });
        if (client.hides?.includes('suggestions')) expect(refusal?.message).toContain('unknown_model');
        else expect(refusal?.didYouMean).toContain(MODEL);
        expect(calls.map(({ status }) => status)).toEqual([404]);
        await expectNotAdmitted(account, headersOf(calls[0]));
      },
    }),
  ),
  {
    does: 'is told that the budget does not carry the call',
    needs: 'chat',
    key: { maxBudgetUsd: '0.0001' },
    async check({ client, account, ask }) {
      const { calls, refusal } = await ask(aChat('hi', { maxTokens: 2_000 }));
      expect(refusal).toMatchObject({ errorName: client.errors.insufficientBalance, status: 402 });
      expect(refusal?.message).toContain('insufficient_balance');
      expect(calls.map(({ status }) => status)).toEqual([402]);
      await expectNotAdmitted(account, headersOf(calls[0]));
    },
  },
  {
    does: 'is told how long to wait, and asks no more where it may not',
    needs: 'chat',
    // The first call takes minutes of this allowance at once.
    key: { tpm: 1 },
    async check({ client, account, ask }) {
      const first = await ask(aChat(`hello [[sim: tokens=2 ${AT_ONCE}]]`));
      await account.untilUsage(headersOf(first.calls[0]));
      const spent = await account.findSpend();
      expect(spent).toBeGreaterThan(0n);

      const { calls, refusal } = await ask(aChat('hi'), { maxRetries: 0 });
      expect(refusal).toMatchObject({ errorName: client.errors.rateLimited, status: 429 });
      expect(Number(refusal?.retryAfter)).toBeGreaterThan(120);
      expect(calls.map(({ status }) => status)).toEqual([429]);
      expect(await account.findSpend()).toBe(spent);
    },
  },
  {
    does: 'waits as long as it is told, and is served at its second try',
    needs: 'chat',
    key: { tpm: TOKENS_PER_MINUTE },
    async check({ account, ask }) {
      const aMinutesWorth = `${' ab'.repeat(TOKENS_PER_MINUTE)} [[sim: tokens=2 ${AT_ONCE}]]`;
      const first = await ask(aChat(aMinutesWorth));
      await account.untilUsage(headersOf(first.calls[0]));

      // On a machine that stood still meanwhile a call passes, and takes so much that the next one does not.
      const { calls, text } = await until('a refused call', async () => {
        const seen = await ask(aChat(`${' ab'.repeat(20)} [[sim: text="Voilà." ${AT_ONCE}]]`));
        return seen.calls[0]?.status === 429 ? seen : undefined;
      });
      expect(calls.map(({ status }) => status)).toEqual([429, 200]);
      expect(text).toBe('Voilà.');
    },
  },
  {
    does: 'is told that a prompt is too long',
    needs: 'chat',
    async check({ client, account, ask }) {
      const long = 'ab '.repeat(SMALL_WINDOW_TOKENS);
      const { calls, refusal } = await ask(aChat(long, { model: SMALL_WINDOW_MODEL }));
      expect(refusal).toMatchObject({ errorName: client.errors.promptTooLong, status: 400 });
      expect(refusal?.message).toContain(String(SMALL_WINDOW_TOKENS));
      expect(calls.map(({ status }) => status)).toEqual([400]);
      await expectUnbilled(account, headersOf(calls[0]));
    },
  },
];
