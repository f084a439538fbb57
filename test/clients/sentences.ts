import { expect } from '@jest/globals';
import type { NewKey, NewWorkspace } from '../support/operator.ts';
import type { Message, Order, Skill } from './order.ts';
import type { Step, StepContext } from './step.ts';

const aPicture = (fields: { model?: string; count?: number } = {}): Order => ({
  do: 'draw',
  model: 'flux.1-schnell',
  prompt: 'a cat',
  count: 1,
  as: 'b64_json',
  ...fields,
});
const aSpeech = (voice: string): Order => ({ do: 'speak', model: 'kokoro-82m', text: 'hi', voice, format: 'mp3' });

/** A row of the table of errors of media in docs/clients.md, and what a person is told there. */
interface ErrorRow {
  row: string;
  needs: Skill;
  order: Order;
  status: number;
  /** Part of the sentence. */
  says: string;
  param?: string;
  /** Makes the key that the client has, or spoils it; by default a good one. */
  apiKeyOf?(context: StepContext): Promise<string>;
}

const keyOf =
  (key: NewKey, workspace: NewWorkspace = { creditUsd: '10' }) =>
  ({ stack }: StepContext): Promise<string> =>
    stack.operator.makeFundedKey(key, workspace);
const mistyped = async ({ account }: StepContext) => `${account.apiKey.slice(0, -2)}xx`;

/** A key whose one request of the minute is taken. */
async function exhausted({ stack, ask }: StepContext): Promise<string> {
  const apiKey = await stack.operator.makeFundedKey({ rpm: 1 });
  const messages: Message[] = [{ role: 'user', text: 'hi [[sim: tokens=2 ttft_ms=0 itl_ms=0]]' }];
  await ask({ do: 'chat', model: 'llama-3.3-70b-instruct', messages, stream: false }, { apiKey });
  return apiKey;
}

const ERROR_ROWS: ErrorRow[] = [
  { row: 'media 401', needs: 'draw', order: aPicture(), status: 401, says: 'not valid here', apiKeyOf: mistyped },
  {
    row: 'media 402',
    needs: 'draw',
    order: aPicture(),
    status: 402,
    says: 'the budget of this key has 0.000001 USD left',
    apiKeyOf: keyOf({ maxBudgetUsd: '0.000001' }),
  },
  {
    row: 'media 404',
    needs: 'draw',
    order: aPicture({ model: 'no-such-model' }),
    status: 404,
    says: 'no such',
    param: 'model',
  },
  {
    row: 'media 422 of pictures',
    needs: 'draw',
    order: aPicture({ count: 99 }),
    status: 422,
    says: 'n must be',
    param: 'n',
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
    says: 'Rate limit reached: 1 requests per minute for this key. Retry in ',
    apiKeyOf: exhausted,
  },
];

/** For rows of the table of errors of media: the sentence reaches whoever has the error, by the header that docs/clients.md names. */
export const sentenceSteps: Step[] = ERROR_ROWS.map(({ row, needs, order, status, says, param, apiKeyOf }) => ({
  does: `is told in a sentence of ${row}`,
  needs,
  async check(context) {
    const apiKey = (await apiKeyOf?.(context)) ?? context.account.apiKey;
    const { refusal } = await context.ask(order, { apiKey, maxRetries: 0 });
    expect(refusal).toMatchObject({ status, sentence: expect.stringContaining(says), ...(param && { param }) });
  },
}));
