import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { until } from '@turnpike/test-support/until';
import OpenAI from 'openai';
import { checkAnswerHead } from './openapi/watchAnswers.ts';
import type { NewKey } from './operator.ts';
import { toNano } from './priceOf.ts';
import type { TestStack } from './startTestStack.ts';

/** The body of `GET /v1/svc/usage/request/{request_id}`. */
export interface UsageRecord {
  object: string;
  currency: string;
  request_id: string;
  model: string;
  canonical_model: string;
  status: string;
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  total_spend: number;
  modality: string;
  units_consumed: number | null;
  billing_unit: string;
  started_at: string;
  ended_at: string;
}

/** A key of a stack that nobody else uses, and what its client asks with it. */
export interface Account {
  workspaceId: string;
  apiKey: string;
  /** Retries nothing. */
  openai: OpenAI;
  get<Body>(path: string): Promise<{ status: number; body: Body }>;
  /** Sends an object as JSON, or a text as it is. */
  post(path: string, body: object | string): Promise<Response>;
  /** Sends an object and gives the answer unread, as to a client that is slow: `fetch` would read ahead. */
  postUnread(path: string, body: object): Promise<IncomingMessage>;
  /** The row of the call that came with these headers, as soon as there is one. */
  untilUsage(headers: Headers | undefined): Promise<UsageRecord>;
  /** Returns the key's spend in nano-dollars, as soon as it is known. */
  findSpend(): Promise<bigint>;
}

/** Makes a key and its client, in a workspace of its own with 10 USD unless one is named. */
export async function makeAccount(
  { baseUrl, operator }: Pick<TestStack, 'baseUrl' | 'operator'>,
  { workspaceId: inWorkspace, ...key }: NewKey & { workspaceId?: string } = {},
): Promise<Account> {
  const workspaceId = inWorkspace ?? (await operator.makeWorkspace({ creditUsd: '10' }));
  const apiKey = await operator.makeKey(workspaceId, key);
  const authorization = `Bearer ${apiKey}`;

  async function get<Body>(path: string): Promise<{ status: number; body: Body }> {
    const response = await fetch(`${baseUrl}${path}`, { headers: { authorization } });
    return { status: response.status, body: (await response.json()) as Body };
  }
  return {
    workspaceId,
    apiKey,
    openai: new OpenAI({ apiKey, baseURL: baseUrl, maxRetries: 0 }),
    get,
    post: (path, body) =>
      fetch(`${baseUrl}${path}`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    postUnread: (path, body) =>
      new Promise((resolve, reject) => {
        const headers = { authorization, 'content-type': 'application/json' };
        const sending = request(`${baseUrl}${path}`, { method: 'POST', headers }, (answer) => {
          const { statusCode: status = 0, headers: answered } = answer;
          const { pathname } = new URL(`${baseUrl}${path}`);
          checkAnswerHead({ method: 'POST', path: pathname, status, headers: toHeaders(answered) });
          resolve(answer);
        }).on('error', reject);
        sending.end(JSON.stringify(body));
      }),
    async untilUsage(headers) {
      const callId = headers?.get('x-router-call-id') ?? '';
      return until(`the usage row of ${callId}`, async () => {
        const { status, body } = await get<UsageRecord>(`/svc/usage/request/${callId}`);
        return status === 200 ? body : undefined;
      });
    },
    async findSpend() {
      return until('what the key has spent', async () => {
        const { status, body } = await get<{ spend_usd: number }>('/svc/key');
        return status === 200 ? toNano(body.spend_usd) : undefined;
      });
    },
  };
}

const toHeaders = (headers: IncomingHttpHeaders): Headers =>
  new Headers(Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]));
