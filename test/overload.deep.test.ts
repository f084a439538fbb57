import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import type OpenAI from 'openai';
import { makeAccount } from './support/makeAccount.ts';
import { startTestStack, type TestStack } from './support/startTestStack.ts';

const MODEL = 'llama-3.1-8b-instruct';
const FLOOD = 200;
/** Calls of one key that may wait: so few that most of the flood is refused, however slowly it comes in. */
const WAITING = 40;
/** Some 0.25 s on an engine, and 1 s. */
const CHAT = aChat('ttft_ms=100 itl_ms=15 tokens=10');
const LONG_CHAT = aChat('ttft_ms=100 itl_ms=90 tokens=10');

function aChat(directives: string): object {
  return { model: MODEL, messages: [{ role: 'user', content: `Hello. [[sim: ${directives}]]` }] };
}

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({
    kafka: false,
    // Engines with little room, and patience enough for all that find a place in the queue.
    serviceSettings: {
      'model-router': {
        LIMITS: {
          ENGINE_CALLS: 2,
          QUEUE_KEY_SHARE: WAITING / 1_000,
          QUEUE_TIMEOUT_MS: 120_000,
          QUEUE_EXPECTED_WAIT_MS: 120_000,
        },
      },
    },
  });
});
afterAll(async () => {
  await stack?.stop();
});

it('answers the one call of a key long before the flood of another that came first, and look-ups meanwhile', async () => {
  const [flooder, single] = await Promise.all([makeAccount(stack), makeAccount(stack)]);
  // A workspace whose balances have yet to be loaded would wait for more than its turn.
  expect((await single.post('/chat/completions', CHAT)).status).toBe(200);
  let served = 0;
  const flood = Array.from({ length: FLOOD }, async () => {
    const answer = await flooder.post('/chat/completions', LONG_CHAT);
    const body = (await answer.json()) as { error?: { code: string } };
    if (answer.status === 200) served += 1;
    return { answer, code: body.error?.code };
  });
  await until('the flood to be served', async () => (served >= 6 ? true : undefined));

  const [answer, key, models] = await Promise.all([
    single.post('/chat/completions', CHAT),
    flooder.get('/svc/key'),
    single.get('/models'),
  ]);

  expect([answer.status, key.status, models.status]).toEqual([200, 200, 200]);
  const { usage } = (await answer.json()) as { usage: OpenAI.CompletionUsage };
  expect(usage.completion_tokens).toBe(10);

  const answers = (await Promise.all(flood)).map(({ answer: { status, headers }, code }) => ({
    status,
    headers,
    code,
  }));
  const refused = answers.filter(({ status }) => status !== 200);
  // The times are the router's own, because this process may hear of many ends at once.
  const { started_at: admittedAt, ended_at: endedAt } = await single.untilUsage(answer.headers);
  const rows = await Promise.all(
    answers.filter(({ status }) => status === 200).map(({ headers }) => flooder.untilUsage(headers)),
  );
  const servedBefore = rows.filter(({ ended_at: at }) => at > admittedAt && at < endedAt);
  // First come, first served would have been after all that found a place in the queue.
  expect(servedBefore.length).toBeLessThan(WAITING / 2);

  // So many may wait, and a few are on engines; the rest is told at once.
  expect(served).toBeGreaterThanOrEqual(WAITING);
  expect(refused.length).toBeGreaterThan(0);
  for (const { status, headers, code } of refused) {
    expect([status, code]).toEqual([503, 'service_unavailable']);
    expect(headers.get('retry-after')).toMatch(/^([1-9]|10)$/);
    expect(headers.get('x-should-retry')).toBeNull();
  }
});
