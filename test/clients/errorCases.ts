import { until } from '@turnpike/test-support/until';
import { PNG } from '../conformance/support/shapes.ts';
import { MODELS } from '../conformance/support/writeMediaCatalog.ts';
import { type Links, toPart } from '../support/createLinks.ts';
import { makeAccount } from '../support/makeAccount.ts';
import type { NewKey, NewWorkspace } from '../support/operator.ts';
import type { TestStack } from '../support/startTestStack.ts';
import type { Access } from './client.ts';
import type { Message, Order } from './order.ts';

/** The stack of the error cases, and the ways between its parts. */
export interface ErrorStack {
  stack: TestStack;
  links: Links;
}

/** How a client calls to see one error. */
export interface ErrorCall {
  order: Order;
  access?: Partial<Access>;
}

/** A case of a row of the table of errors of docs/clients.md, and part of the sentence there. */
export interface ErrorCase {
  row: string;
  says: string;
  param?: string;
  /** Brings the error about, and has it seen. */
  show(errorStack: ErrorStack, see: (call: ErrorCall) => Promise<void>): Promise<void>;
}

const FLOODED = '203.0.113.9';
/** More than the test itself sends from its address. */
export const FLOOD_BURST = 400;
const aChat = (
  fields: Partial<Pick<Message, 'text' | 'imageUrl'> & { model: string; maxTokens: number }> = {},
): Order => {
  const { text = 'hi', imageUrl, ...others } = fields;
  const message: Message = { role: 'user', text, ...(imageUrl !== undefined && { imageUrl }) };
  return { do: 'chat', model: MODELS.text, messages: [message], stream: false, ...others };
};
/** Shows what one call of a good key is answered. */
const simply =
  (order: Order, access?: Partial<Access>): ErrorCase['show'] =>
  (_errorStack, see) =>
    see({ order, ...(access && { access }) });

/** Shows what a key is answered that is made for it. */
const withKey =
  (order: Order, makeKey: (stack: TestStack) => Promise<string>): ErrorCase['show'] =>
  async ({ stack }, see) =>
    see({ order, access: { apiKey: await makeKey(stack) } });

const keyOf =
  (key: NewKey, workspace: NewWorkspace = { creditUsd: '10' }) =>
  ({ operator }: TestStack): Promise<string> =>
    operator.makeFundedKey(key, workspace);
const mistyped = async ({ apiKey }: TestStack) => `${apiKey.slice(0, -2)}xx`;

/** A key that was blocked after it was made. */
async function blocked({ operator }: TestStack): Promise<string> {
  const apiKey = await operator.makeFundedKey();
  await operator.changeKey(apiKey, 'block');
  return apiKey;
}

/** A key that has spent something. */
async function spent(stack: TestStack, key: NewKey = {}) {
  const account = await makeAccount(stack, key);
  const messages = [{ role: 'user', content: 'hi [[sim: tokens=2 ttft_ms=0 itl_ms=0]]' }];
  const answer = await account.post('/chat/completions', { model: MODELS.text, messages });
  await account.untilUsage(answer.headers);
  return account;
}

/** A key whose one request of the minute is taken. */
const exhausted = async (stack: TestStack) => (await spent(stack, { rpm: 1 })).apiKey;

/** A key whose workspace has spent more than it may in a month. */
async function capped(stack: TestStack): Promise<string> {
  const { workspaceId, apiKey } = await spent(stack);
  await stack.operator.capWorkspace(workspaceId, 1n);
  return apiKey;
}

/** Sends calls again and again while `act` runs. */
async function whileFlooding(call: () => Promise<unknown>, act: () => Promise<void>): Promise<void> {
  let isOver = false;
  const flood = Array.from({ length: 8 }, async () => {
    while (!isOver) await call();
  });
  await act().finally(() => {
    isOver = true;
  });
  await Promise.all(flood);
}

const RATE_LIMITED = 'Rate limit reached: 1 requests per minute for this key. Retry in ';
const poorly = (usd: string) => `the budget of this key has ${usd} USD left`;

/** Cases of each row of the table of errors of text. */
export const ERROR_CASES: ErrorCase[] = [
  { row: '400', says: 'does not take images', param: 'messages', show: simply(aChat({ imageUrl: PNG })) },
  { row: '400 context_length_exceeded', says: '4096', show: simply(aChat({ text: 'ab '.repeat(5_000) })) },
  { row: '401', says: 'The API key is not valid here.', show: withKey(aChat(), mistyped) },
  {
    row: '402 insufficient_balance',
    says: poorly('0.0001'),
    show: withKey(aChat({ maxTokens: 1_000 }), keyOf({ maxBudgetUsd: '0.0001' })),
  },
  { row: '402 spend_cap_reached', says: 'monthly', show: withKey(aChat(), capped) },
  {
    row: '402 account_on_hold',
    says: 'The account is on hold',
    show: withKey(aChat(), keyOf({}, { billingStatus: 'on_hold' })),
  },
  {
    row: '402 billing_not_provisioned',
    says: 'The account is not set up for billing',
    show: withKey(aChat(), keyOf({}, { billingStatus: 'not_provisioned' })),
  },
  { row: '403', says: 'blocked by an administrator', show: withKey(aChat(), blocked) },
  {
    row: '403 model_not_allowed',
    says: `This key may not call ${MODELS.text}`,
    param: 'model',
    show: withKey(aChat(), keyOf({ allowedModels: ['other-chat'] })),
  },
  { row: '404 unknown_model', says: 'No such model here', show: simply(aChat({ model: 'no-such-model' })) },
  {
    row: '404 model_deactivated',
    says: 'has no capacity in this region',
    param: 'model',
    show: simply(aChat({ model: MODELS.unbackedText })),
  },
  { row: '429 with Retry-After', says: RATE_LIMITED, show: withKey(aChat(), exhausted) },
  {
    row: '429 with x-ratelimit-reset only',
    says: 'Rate limit reached: 1 requests per minute for this address. Retry in ',
    async show({ stack }, see) {
      const headers = { 'x-forwarded-for': FLOODED };
      const asked = { method: 'POST', headers, body: '{}' };
      const call = async () => (await fetch(`${stack.baseUrl}/chat/completions`, asked)).status;
      await whileFlooding(call, async () => {
        await until('the address to be refused', async () => (await call()) === 429);
        await see({ order: aChat(), access: { headers } });
      });
    },
  },
  {
    row: '500',
    says: 'The model failed to answer. Nothing was charged.',
    show: simply(aChat({ text: '[[sim: fault=http_500]]' })),
  },
  {
    row: '502',
    says: 'unavailable',
    show: ({ links }, see) => links.during(toPart('catalog'), () => see({ order: { do: 'listModels' } })),
  },
  // Two ways of a busy model.
  { row: '503', says: ' right now', show: simply(aChat({ text: '[[sim: fault=http_503]]' })) },
];
