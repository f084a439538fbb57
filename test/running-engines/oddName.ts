import { expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { priceOf, toNano } from '../support/priceOf.ts';
import { PLAIN_USAGE } from '../support/startPlainEngine.ts';
import { ODD_ID, ODD_NAME, stack } from './stack.ts';

const MESSAGES = [{ role: 'user', content: 'Où est le café ? 天気 😀' }];

interface UsageRecord {
  model: string;
  canonical_model: string;
  status: string;
  total_spend: number;
}

it.each([
  ['the id that the catalog gave it', ODD_ID],
  ["the engine's own name", ODD_NAME],
])('serves a model that is called otherwise than a catalog may call it, by %s', async (_what, model) => {
  const authorization = `Bearer ${await stack.operator.makeFundedKey()}`;
  const get = async <Body>(path: string): Promise<Body | undefined> => {
    const response = await fetch(`${stack.baseUrl}${path}`, { headers: { authorization } });
    return response.status === 200 ? ((await response.json()) as Body) : undefined;
  };
  const listed = await get<{ id: string; context_length: number; pricing: Parameters<typeof priceOf>[1] }>(
    `/models/${ODD_ID}`,
  );
  expect(listed?.context_length).toBe(8_192); // the default for an engine that states none
  const response = await fetch(`${stack.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: MESSAGES }),
  });

  expect(await response.json()).toMatchObject({ model: ODD_ID });
  const callId = response.headers.get('x-router-call-id');
  const row = await until(`the usage row of ${callId}`, () => get<UsageRecord>(`/svc/usage/request/${callId}`));
  expect(row).toMatchObject({ model: `engine-1/${ODD_ID}`, canonical_model: ODD_ID, status: 'success' });
  const cost = listed && priceOf({ ...PLAIN_USAGE, cached_tokens: 0 }, listed.pricing);
  expect(cost).toBeGreaterThan(0n);
  expect(toNano(row.total_spend)).toBe(cost);
});
