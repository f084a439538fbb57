import { expect, it } from '@jest/globals';
import { scrapeMetrics } from '@turnpike/test-support/readMetrics';
import { makeAccount } from '../support/makeAccount.ts';
import { HUGE_COUNT } from '../support/startPlainEngine.ts';
import { PLAIN_MODEL, stack } from './stack.ts';

// One wrong count of an engine kept a key of 1,000,000 tokens a minute out for 66 hours.

it('an engine that counts 4,000,000,000 tokens takes no more of a key’s rate than the admission bounded, and an alert is raised', async () => {
  const account = await makeAccount(stack, { tpm: 1_000_000 });
  const chat = (content: string) =>
    account.post('/chat/completions', { model: PLAIN_MODEL, max_tokens: 100, messages: [{ role: 'user', content }] });
  const answer = await chat(HUGE_COUNT);
  expect(answer.status).toBe(200);
  expect(await account.untilUsage(answer.headers)).toMatchObject({ status: 'success', total_tokens: 4_000_000_000 });
  const next = await chat('Hello.');
  expect(next.status).toBe(200);
  expect(Number(next.headers.get('x-ratelimit-remaining-tokens'))).toBeGreaterThan(990_000);
  const metrics = await scrapeMetrics(
    `${stack.running.stack.regions.us.services['model-router'].internal_url}/metrics`,
  );
  const alerts = [...metrics].filter(([name]) => /^turnpike_alerts_total.*count_above_bound/.test(name));
  expect(alerts).toEqual([[expect.any(String), 1]]);
});
