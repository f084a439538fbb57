import { expect, it } from '@jest/globals';
import { type Account, makeAccount } from '../support/makeAccount.ts';
import { MODEL_WITH_SHARED_CACHE, stack } from './stack.ts';

const SEPARATE = 'llama-3.3-70b-instruct';
/** Some 2,000 tokens. */
const PROMPT = 'the same question as before '.repeat(400);

/** Prompt tokens that were read from the cache, of all there were. */
async function ask(account: Account, model: string): Promise<{ cached: number; prompt: number }> {
  const { usage } = await account.openai.chat.completions.create({
    model,
    messages: [{ role: 'user', content: PROMPT }],
    max_tokens: 1,
  });
  const { cache_read_input_tokens: cached } = usage as unknown as { cache_read_input_tokens: number };
  return { cached, prompt: usage?.prompt_tokens ?? 0 };
}

it('reads nothing that another workspace has cached, though the prompt is the same, and all that its own has', async () => {
  const [first, second] = [await makeAccount(stack), await makeAccount(stack)];
  const cold = await ask(first, SEPARATE);
  expect(cold.prompt).toBeGreaterThanOrEqual(2_000);
  expect(cold.cached).toBe(0);
  expect((await ask(second, SEPARATE)).cached).toBe(0);
  expect((await ask(first, SEPARATE)).cached).toBeGreaterThan(1_900);
  const colleague = await makeAccount(stack, { workspaceId: first.workspaceId });
  expect((await ask(colleague, SEPARATE)).cached).toBeGreaterThan(1_900);
});

it('shares what is cached between workspaces on a model whose catalog entry says so', async () => {
  const [first, second] = [await makeAccount(stack), await makeAccount(stack)];
  expect((await ask(first, MODEL_WITH_SHARED_CACHE)).cached).toBe(0);
  expect((await ask(second, MODEL_WITH_SHARED_CACHE)).cached).toBeGreaterThan(1_900);
});
