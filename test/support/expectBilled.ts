import { expect } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import type { Account } from './makeAccount.ts';
import { priceOf, toNano } from './priceOf.ts';

const FREE_MODEL = 'smollm2-1.7b-instruct';

/** A call's tokens as its client sees them. Embeddings have no completion, and no cache. */
export interface SeenUsage {
  prompt_tokens: number;
  completion_tokens?: number;
  total_tokens: number;
  cache_read_input_tokens?: number;
}

export interface BilledCall {
  /** Headers of the answer. */
  headers: Headers;
  model: string;
  usage: SeenUsage | null | undefined;
  /** The key's spend before, in nano-dollars. */
  spentBefore?: bigint;
}

/**
 * Asserts that a call's row has the tokens of the response, and that its charge follows the listed prices. Asserts that the key's spend
 * grew by the charge. Returns the charge in nano-dollars, which must not be zero, because zero would prove nothing.
 */
export async function expectBilled(
  account: Account,
  { headers, model, usage, spentBefore = 0n }: BilledCall,
): Promise<bigint> {
  const { prompt_tokens = 0, completion_tokens = 0, cache_read_input_tokens: cached_tokens = 0 } = usage ?? {};
  const { body: entry } = await account.get<{ pricing: Parameters<typeof priceOf>[1] }>(`/models/${model}`);
  const charge = priceOf({ prompt_tokens, completion_tokens, cached_tokens }, entry.pricing);
  expect(charge).toBeGreaterThan(0n);

  const row = await account.untilUsage(headers);
  expect(row).toMatchObject({
    canonical_model: model,
    status: 'success',
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    modality: 'text',
  });
  expect(usage?.total_tokens).toBe(row.total_tokens);
  expect(toNano(row.total_spend)).toBe(charge);
  await until(`a spend of ${spentBefore + charge} nano-dollars`, async () =>
    (await account.findSpend()) === spentBefore + charge ? true : undefined,
  );
  return charge;
}

/** Asserts that a call that was admitted and failed stands in a row without tokens, and that its key has spent nothing. */
export async function expectUnbilled(account: Account, headers: Headers | undefined): Promise<void> {
  expect(await account.untilUsage(headers)).toMatchObject({
    status: 'failure',
    prompt_tokens: 0,
    completion_tokens: 0,
    total_tokens: 0,
    total_spend: 0,
  });
  expect(await account.findSpend()).toBe(0n);
}

/** Asserts that calls were refused before they were admitted: there is no row of them, and their key has spent nothing. */
export async function expectNotAdmitted(account: Account, ...refused: (Headers | undefined)[]): Promise<void> {
  // Rows come in the order of the calls: once a later one has its own, the refused ones will get none.
  const later = await account.post('/completions', { model: FREE_MODEL, prompt: 'hi', max_tokens: 1 });
  await account.untilUsage(later.headers);
  for (const headers of refused) {
    const callId = headers?.get('x-router-call-id');
    expect(callId).toEqual(expect.any(String));
    expect((await account.get(`/svc/usage/request/${callId}`)).status).toBe(404);
  }
  expect(await account.findSpend()).toBe(0n);
}
