import { expect } from '@jest/globals';
import { PNG } from '../conformance/support/shapes.ts';
import type { NewKey, NewWorkspace } from '../support/operator.ts';
import type { Message, Order, Skill } from './order.ts';
import type { Step, StepContext } from './step.ts';

const MODEL = 'llama-3.3-70b-instruct';

const aChat = (
  fields: Partial<Pick<Message, 'text' | 'imageUrl'> & { model: string; maxTokens: number }> = {},
): Order => {
  const { text = 'hi', imageUrl, ...others } = fields;
  const message: Message = { role: 'user', text, ...(imageUrl !== undefined && { imageUrl }) };
  return { do: 'chat', model: MODEL, messages: [message], stream: false, ...others };
};
const aPicture = (fields: { model?: string; count?: number } = {}): Order => ({
  do: 'draw',
  model: 'flux.1-schnell',
  prompt: 'a cat',
  count: 1,
  as: 'b64_json',
  ...fields,
});
const aSpeech = (voice: string): Order => ({ do: 'speak', model: 'kokoro-82m', text: 'hi', voice, format: 'mp3' });

/** A row of the errors tables of docs/clients.md, and what a person is told there. */
interface ErrorRow {
  row: string;
  needs?: Skill;
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

/** A key that was blocked after it was made. */
async function blocked({ stack }: StepContext): Promise<string> {
  const apiKey = await stack.operator.makeFundedKey();
  await stack.operator.changeKey(apiKey, 'block');
  return apiKey;
}

/** A key whose one request of the minute is taken. */
async function exhausted({ stack, ask }: StepContext): Promise<string> {
  const apiKey = await stack.operator.makeFundedKey({ rpm: 1 });
  await ask(aChat({ text: 'hi [[sim: tokens=2 ttft_ms=0 itl_ms=0]]' }), { apiKey });
  return apiKey;
}

const ERROR_ROWS: ErrorRow[] = [
  { row: '400', order: aChat({ imageUrl: PNG }), status: 400, says: 'does not take images', param: 'messages' },
  {
    row: '400 context_length_exceeded',
    order: aChat({ model: 'qwen3-32b', text: 'ab '.repeat(40_960) }),
    status: 400,
    says: '40960',
  },
  { row: '401', order: aChat(), status: 401, says: 'The API key is not valid here.', apiKeyOf: mistyped },
  {
    row: '402 insufficient_balance',
    order: aChat({ maxTokens: 2_000 }),
    status: 402,
    says: 'the budget of this key has 0.0001 USD left',
    apiKeyOf: keyOf({ maxBudgetUsd: '0.0001' }),
  },
  {
    row: '402 account_on_hold',
    order: aChat(),
    status: 402,
    says: 'The account is on hold',
    apiKeyOf: keyOf({}, { billingStatus: 'on_hold' }),
  },
  {
    row: '402 billing_not_provisioned',
    order: aChat(),
    status: 402,
    says: 'The account is not set up for billing',
    apiKeyOf: keyOf({}, { billingStatus: 'not_provisioned' }),
  },
  { row: '403', order: aChat(), status: 403, says: 'blocked by an administrator', apiKeyOf: blocked },
  { row: '404 unknown_model', order: aChat({ model: 'no-such-model' }), status: 404, says: 'No such model here' },
  {
    row: '429 with Retry-After',
    order: aChat(),
    status: 429,
    says: 'Rate limit reached: 1 requests per minute for this key. Retry in ',
    apiKeyOf: exhausted,
  },
  {
    row: '500',
    order: aChat({ text: '[[sim: fault=http_500]]' }),
    status: 500,
    says: 'The model failed to answer. Nothing was charged.',
  },
  {
    row: '503',
    order: aChat({ model: 'qwen3-32b', text: '[[sim: fault=http_503]]' }),
    status: 503,
    // Of a busy model, in either of two ways.
    says: ' right now',
  },
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

/** For each row of the errors tables: the sentence reaches whoever has the error, by the header that docs/clients.md names. */
export const sentenceSteps: Step[] = ERROR_ROWS.map(
  ({ row, needs = 'chat', order, status, says, param, apiKeyOf }) => ({
    does: `is told in a sentence of ${row}`,
    needs,
    async check(context) {
      const apiKey = (await apiKeyOf?.(context)) ?? context.account.apiKey;
      const { refusal } = await context.ask(order, { apiKey, maxRetries: 0 });
      expect(refusal).toMatchObject({ status, sentence: expect.stringContaining(says), ...(param && { param }) });
    },
  }),
);
