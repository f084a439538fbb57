import { beforeEach, describe, expect, it } from '@jest/globals';
import { scrapeMetrics } from '@turnpike/test-support/readMetrics';
import { type Account, makeAccount } from '../support/makeAccount.ts';
import { counting, stack } from './stack.ts';
import { BYTES_PER_TOKEN, COUNTED_MODEL as MODEL, COUNTED_WINDOW as WINDOW } from './startCountingEngine.ts';

// The attack sends long prompts without a length. Engines once counted each before admission, also for keys that were then refused.
// So a client without credit or rate kept engines busy for free.

/** Calls of a key at once, as in the attack. */
const CALLS = 20;
/** The prompt is longer than the window by its bytes, and leaves room for an answer by its tokens. */
const PROMPT_BYTES = 520_000;
/** Bytes that engines count in vain for one key, at once and again every minute. */
const IN_VAIN_BYTES = 8 * 1_048_576;

const takeCounted = () => Promise.all(counting.map((engine) => engine.takeCounted()));
const countPrompts = async (): Promise<number> => (await takeCounted()).reduce((sum, { prompts }) => sum + prompts, 0);
const ask = async (account: Account, promptBytes = PROMPT_BYTES): Promise<{ status: number; text: string }> => {
  const messages = [{ role: 'user', content: 'x'.repeat(promptBytes) }];
  const response = await account.post('/chat/completions', { model: MODEL, messages });
  return { status: response.status, text: await response.text() };
};
const askAtOnce = (account: Account) => Promise.all(Array.from({ length: CALLS }, () => ask(account)));
const statusesOf = (answers: { status: number }[]) => answers.map(({ status }) => status).toSorted();

describe('prompts to be counted', () => {
  beforeEach(async () => {
    await takeCounted();
  });

  it('no prompt is counted for a key without credit', async () => {
    const workspaceId = await stack.operator.makeWorkspace();
    const answers = await askAtOnce(await makeAccount(stack, { workspaceId }));
    expect(statusesOf(answers)).toEqual(Array.from({ length: CALLS }, () => 402));
    expect(await countPrompts()).toBe(0);
  });

  it('no prompt is counted for a call above its key’s rate', async () => {
    const answers = await askAtOnce(await makeAccount(stack, { rpm: 1 }));
    expect(statusesOf(answers)).toEqual([200, ...Array.from({ length: CALLS - 1 }, () => 429)]);
    expect(await countPrompts()).toBe(1);
  });

  it('prompts that a little credit never carries are counted so often and no more, and nobody is told that they are too dear', async () => {
    const account = await makeAccount(stack, { maxBudgetUsd: '0.0001' });
    const askedAt = performance.now();
    const answers = [...(await askAtOnce(account)), ...(await askAtOnce(account))];
    const minutes = (performance.now() - askedAt) / 60_000;
    const counted = await countPrompts();
    expect(counted).toBeLessThanOrEqual(Math.ceil(((1 + minutes) * IN_VAIN_BYTES) / PROMPT_BYTES) + 1);
    const refused = answers.filter(({ status }) => status === 503);
    expect(answers.filter(({ status }) => status === 402)).toHaveLength(counted);
    expect(refused).toHaveLength(answers.length - counted);
    for (const { text } of refused) expect(text).toContain('prompts of this key are being counted');
    const metrics = await scrapeMetrics(
      `${stack.running.stack.regions.us.services['model-router'].internal_url}/metrics`,
    );
    const hits = [...metrics].filter(([name]) => name.startsWith('turnpike_key_bounds_total{bound="prompt_counts"'));
    expect(hits).toEqual([[expect.stringMatching(/key="key_/), refused.length]]);
  });

  it('a call that is let in gets as much output as fits beside its prompt, which the engines count in turn', async () => {
    const account = await makeAccount(stack);
    for (let call = 0; call < 4; call += 1) expect((await ask(account)).status).toBe(200);
    const counted = await takeCounted();
    expect(counted.map(({ prompts }) => prompts)).toEqual([2, 2]);
    const lengths = counted.flatMap(({ bodies }) => bodies.map(({ max_tokens: tokens }) => tokens));
    expect(lengths).toHaveLength(4);
    for (const length of lengths) {
      expect(length).toBeLessThan(WINDOW - PROMPT_BYTES / BYTES_PER_TOKEN);
      expect(length).toBeGreaterThan(900);
    }
  });

  it('nobody is refused on a guess: a balance that carries the counted prompt, and not its bytes, is enough', async () => {
    const promptBytes = 200_000;
    const headers = { authorization: `Bearer ${stack.apiKey}` };
    const response = await fetch(`${stack.baseUrl}/models/${MODEL}`, { headers });
    const { pricing } = (await response.json()) as { pricing: { prompt: string; completion: string } };
    const promptUsd = (promptBytes / BYTES_PER_TOKEN + 100) * Number(pricing.prompt);
    const answerUsd = 2_048 * Number(pricing.completion);
    const account = await makeAccount(stack, { maxBudgetUsd: (promptUsd + answerUsd).toFixed(9) });
    expect((await ask(account, promptBytes)).status).toBe(200);
    expect(await countPrompts()).toBe(1);
  });
});
