import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { aTemporaryFolder } from '@turnpike/test-support/folders';
import { until } from '@turnpike/test-support/until';
import { stack } from '../../conformance/support/plainStack.ts';
import { type Account, makeAccount } from '../../support/makeAccount.ts';
import { claudeCode, codex, JOB_TIMEOUT_MS, opencode } from './runAgent.ts';

// Coding agents as their users run them. The engine simulator reads a script in the prompt, and calls their own tools.

const INSTALLED = process.env.TURNPIKE_TEST_AGENTS;
const MODEL = 'qwen3-coder-30b-a3b-instruct';

/** Longer than a job, which then says what was printed. */
const TEST_TIMEOUT_MS = JOB_TIMEOUT_MS + 30_000;

/** Claude Code has a sentence of its own for it. */
const UNKNOWN_MODEL = /No such model here|issue with the selected model/;

/** Codex has a sentence of its own for it. */
const LIMIT_REACHED = /Rate limit reached: 10 tokens per minute|exceeded retry limit, last status: 429/;

const quote = (text: string): string => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;

/** Asks with a prompt of a word many times, each of 5 bytes. */
const askMuch = (account: Account, times: number): Promise<Response> =>
  account.post('/chat/completions', {
    model: MODEL,
    messages: [{ role: 'user', content: `${'much '.repeat(times)}[[sim: tokens=2 itl_ms=0]]` }],
  });

for (const toAgent of [codex, claudeCode, opencode]) {
  const { name, isSlow, waitsForLimits } = toAgent('', '');
  describe(name, () => {
    const isWanted = INSTALLED !== undefined && (!isSlow || process.env.REQUIRE_AGENTS === '1');
    const run = isWanted ? it : it.skip;
    const job = async (
      prompt: string,
      {
        model = MODEL,
        creditUsd = '10',
        account: given,
      }: { model?: string; creditUsd?: string; account?: Account } = {},
    ) => {
      const account =
        given ?? (await makeAccount(stack, { workspaceId: await stack.operator.makeWorkspace({ creditUsd }) }));
      const agent = toAgent(INSTALLED as string, await aTemporaryFolder());
      return {
        account,
        agent,
        ...(await agent.run({ baseUrl: stack.baseUrl, apiKey: account.apiKey, model, prompt })),
      };
    };

    run(
      'says what the model says, and pays for it',
      async () => {
        const { code, output, account } = await job('say hello [[sim: text="hello from the other end" itl_ms=0]]');
        expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('hello from the other end') });
        await until('the charge', async () => (await account.findSpend()) > 0n);
      },
      TEST_TIMEOUT_MS,
    );

    run(
      'finishes a job of three calls: it writes a file, changes it and reads it',
      async () => {
        const agent = toAgent('', '');
        const calls = [agent.writing('a.txt', 'one'), agent.writing('a.txt', 'two'), agent.reading('a.txt')];
        const script = calls.map(
          ({ tool, arguments: text }, turn) =>
            `[[sim: turn=${turn + 1} itl_ms=0 tool_call=${tool} tool_arguments=${quote(text)}]]`,
        );
        const { code, output, folder } = await job(
          `Change the file. ${script.join(' ')} [[sim: turn=4 itl_ms=0 text="the file is changed"]]`,
        );
        expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('the file is changed') });
        expect(await readFile(join(folder, 'a.txt'), 'utf8')).toBe('two');
      },
      TEST_TIMEOUT_MS,
    );

    run(
      'shows the sentence of a refusal',
      async () => {
        const { output } = await job('hi [[sim: tokens=2]]', { creditUsd: '0.000001' });
        expect(output).toContain('This request could cost up to');
        expect(output).toContain('so nothing was run or charged');
      },
      TEST_TIMEOUT_MS,
    );

    run(
      'says that a model is unknown',
      async () => {
        const { output } = await job('hi [[sim: tokens=2]]', { model: 'nobody-knows-it' });
        expect(output).toMatch(UNKNOWN_MODEL);
      },
      TEST_TIMEOUT_MS,
    );

    if (waitsForLimits)
      run(
        'waits for a limit that is reached as long as it is told to, and goes on',
        async () => {
          const account = await makeAccount(stack, { tpm: 60_000 });
          // About 75,000 tokens: the next call may begin 15 s later.
          expect((await askMuch(account, 60_000)).status).toBe(200);
          const refused = await askMuch(account, 1);
          expect(refused.status).toBe(429);
          const mayBeginAt = performance.now() + (Number(refused.headers.get('retry-after')) - 1) * 1_000;
          const { code, output } = await job('hi [[sim: text="after the limit" itl_ms=0]]', { account });
          expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('after the limit') });
          expect(performance.now()).toBeGreaterThan(mayBeginAt);
        },
        TEST_TIMEOUT_MS,
      );
    else
      run(
        'shows the sentence of a limit that is reached',
        async () => {
          const account = await makeAccount(stack, { tpm: 10 });
          // Takes more than the agent could wait for.
          expect((await askMuch(account, 2_000)).status).toBe(200);
          const { output } = await job('hi [[sim: tokens=2]]', { account });
          expect(output).toMatch(LIMIT_REACHED);
        },
        TEST_TIMEOUT_MS,
      );
  });
}
