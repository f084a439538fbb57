import { expect } from '@jest/globals';
import { expectNotAdmitted } from '../support/expectBilled.ts';
import type { NewKey } from '../support/operator.ts';
import type { Client } from './client.ts';
import type { Message, Order, Skill } from './order.ts';
import type { Step, StepContext } from './step.ts';

const aPicture = (fields: { model?: string; size?: string } = {}): Order => ({
  do: 'draw',
  model: 'flux.1-schnell',
  prompt: 'a cat',
  count: 1,
  as: 'b64_json',
  ...fields,
});
const aClip = (seconds: string): Order => ({ do: 'film', model: 'wan2.2-t2v-a14b', prompt: 'a cat', seconds });
const aSpeech = (voice: string): Order => ({ do: 'speak', model: 'kokoro-82m', text: 'hi', voice, format: 'mp3' });

/** A row of the table of errors of media in docs/clients.md, and what a person is told there. */
interface ErrorRow {
  row: string;
  needs: Skill;
  order: Order;
  status: number;
  /** Absent for audio, because `litellm` raises `UnprocessableEntityError` for it and `BadRequestError` for the rest. */
  error?: keyof Client['errors'];
  /** Part of the sentence. */
  says: string;
  param?: string;
  /** A key of the account. */
  key?: NewKey;
  /** Makes another key for the client, or spoils the account's. */
  apiKeyOf?(context: StepContext): Promise<string>;
}

const mistyped = async ({ account }: StepContext) => `${account.apiKey.slice(0, -2)}xx`;

/** A key whose one request of the minute is taken. */
async function exhausted({ stack, ask }: StepContext): Promise<string> {
  const apiKey = await stack.operator.makeFundedKey({ rpm: 1 });
  const messages: Message[] = [{ role: 'user', text: 'hi [[sim: tokens=2 ttft_ms=0 itl_ms=0]]' }];
  await ask({ do: 'chat', model: 'llama-3.3-70b-instruct', messages, stream: false }, { apiKey });
  return apiKey;
}

const ERROR_ROWS: ErrorRow[] = [
  {
    row: 'media 401',
    needs: 'draw',
    order: aPicture(),
    status: 401,
    error: 'wrongKey',
    says: 'not valid here',
    apiKeyOf: mistyped,
  },
  {
    row: 'media 402',
    needs: 'draw',
    order: aPicture(),
    status: 402,
    error: 'insufficientBalance',
    says: 'the budget of this key has 0.000001 USD left',
    key: { maxBudgetUsd: '0.000001' },
  },
  {
    row: 'media 402 of clips',
    needs: 'film',
    order: aClip('3'),
    status: 402,
    error: 'insufficientBalance',
    says: 'the budget of this key has 0.029 USD left',
    key: { maxBudgetUsd: '0.029' },
  },
  {
    row: 'media 404',
    needs: 'draw',
    order: aPicture({ model: 'no-such-model' }),
    status: 404,
    error: 'unknownModel',
    says: 'no such',
    param: 'model',
  },
  {
    row: 'media 422 of pictures',
    needs: 'draw',
    order: aPicture({ size: '1x1' }),
    status: 422,
    error: 'unprocessable',
    says: 'size must be',
    param: 'size',
  },
  {
    row: 'media 422 of clips',
    needs: 'film',
    order: aClip('4'),
    status: 422,
    error: 'unprocessable',
    says: 'seconds must be 3 or 5',
    param: 'seconds',
  },
  {
    row: 'media 422 of speech',
    needs: 'speak',
    order: aSpeech('nobody'),
    status: 422,
    says: 'af_heart',
    param: 'voice',
  },
  {
    row: 'media 422 of recordings',
    needs: 'hear',
    order: { do: 'hear', model: 'whisper-large-v3', audio: 'AAAA', format: 'json' },
    status: 422,
    says: 'file must be a recording',
    param: 'file',
  },
  {
    row: 'media 429',
    needs: 'draw',
    order: aPicture(),
    status: 429,
    error: 'rateLimited',
    says: 'Rate limit reached: 1 requests per minute for this key. Retry in ',
    apiKeyOf: exhausted,
  },
];

/** Refusals of media: each client that makes the call raises its error with the sentence, and repeats nothing but a 429. */
export const sentenceSteps: Step[] = ERROR_ROWS.map(
  ({ row, needs, order, status, error, says, param, key, apiKeyOf }) => ({
    does: `is told in a sentence of ${row}`,
    needs,
    ...(key && { key }),
    async check(context) {
      const apiKey = (await apiKeyOf?.(context)) ?? context.account.apiKey;
      // A client may repeat a 429, and waits for a minute before.
      const { calls, refusal } = await context.ask(order, { apiKey, maxRetries: status === 429 ? 0 : 1 });
      const sentence = expect.stringContaining(says);
      expect({ calls, refusal }).toMatchObject({
        calls: [{ status }],
        refusal: {
          status,
          sentence,
          ...(error && { errorName: context.client.errors[error] }),
          ...(param && { param }),
        },
      });
      await expectNotAdmitted(context.account);
    },
  }),
);
