import { expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import OpenAI from 'openai';
import { expectBilled, expectNotAdmitted, expectUnbilled } from '../support/expectBilled.ts';
import { findServed } from '../support/findServed.ts';
import { makeAccount } from '../support/makeAccount.ts';
import { rejectionOf } from '../support/rejectionOf.ts';
import { stack } from './stack.ts';

const MODEL = 'llama-3.3-70b-instruct';

/** Several turns, with accents, CJK and emoji, as people write. */
const CONVERSATION: OpenAI.ChatCompletionMessageParam[] = [
  { role: 'system', content: 'Du bist ein höflicher Übersetzer. Antworte knapp – ohne Ausschweifung.' },
  { role: 'user', content: 'Comment dit-on « à bientôt » en japonais ? 😀' },
  { role: 'assistant', content: '「またね」 (mata ne) または 「では、また」 ✨' },
  { role: 'user', content: 'И по-русски? Also in 中文 und auf Ελληνικά, s’il vous plaît 👩‍👩‍👧‍👦' },
  { role: 'assistant', content: '«До скорого», 再见, «τα λέμε» — voilà!' },
  { role: 'user', content: 'Danke 🙏 Now tell me a longer story about all of them. [[sim: tokens=160]]' },
];

export function testMainJob(): void {
  it('streams a long multi-turn chat, and asked whole it is the same, each with its row, price and spend', async () => {
    const account = await makeAccount(stack);
    const { data: stream, response: streamed } = await account.openai.chat.completions
      .create({
        model: MODEL,
        messages: CONVERSATION,
        stream: true,
        stream_options: { include_usage: true },
        seed: 7,
      })
      .withResponse();
    let text = '';
    let usage: OpenAI.CompletionUsage | null | undefined;
    const finishReasons: string[] = [];
    for await (const chunk of stream) {
      expect(chunk.model).toBe(MODEL);
      expect(chunk).not.toHaveProperty('system_fingerprint');
      text += chunk.choices[0]?.delta.content ?? '';
      if (chunk.choices[0]?.finish_reason) finishReasons.push(chunk.choices[0].finish_reason);
      usage = chunk.usage ?? usage;
    }
    expect(finishReasons).toHaveLength(1);
    expect(text.length).toBeGreaterThan(100);
    expect(text).not.toContain('\uFFFD');
    expect(usage?.completion_tokens).toBe(160);
    const streamedCharge = await expectBilled(account, { headers: streamed.headers, model: MODEL, usage });
    const row = await account.untilUsage(streamed.headers);
    expect(row).toMatchObject({
      object: 'usage.request',
      currency: 'USD',
      request_id: streamed.headers.get('x-router-call-id'),
      units_consumed: null,
      billing_unit: 'token',
    });
    expect(Date.parse(row.ended_at)).toBeGreaterThanOrEqual(Date.parse(row.started_at));

    // Equal requests give equal answers on every engine.
    const { data: whole, response } = await account.openai.chat.completions
      .create({ model: MODEL, messages: CONVERSATION, seed: 7 })
      .withResponse();
    expect(whole.choices[0]?.message.content).toBe(text);
    expect(whole.usage?.completion_tokens).toBe(160);
    await expectBilled(account, {
      headers: response.headers,
      model: MODEL,
      usage: whole.usage,
      spentBefore: streamedCharge,
    });
  });

  it('answers whole chats, and the key’s spend is the sum of its rows to the nano-dollar', async () => {
    const account = await makeAccount(stack);
    let spentBefore = 0n;
    for (const content of ['Übung [[sim: tokens=33]]', '日本語で [[sim: tokens=57]]', '🙂 [[sim: tokens=1]]']) {
      const { data, response } = await account.openai.chat.completions
        .create({ model: MODEL, messages: [{ role: 'user', content }] })
        .withResponse();
      expect(data).not.toHaveProperty('system_fingerprint');
      const call = { headers: response.headers, model: MODEL, usage: data.usage };
      spentBefore += await expectBilled(account, { ...call, spentBefore });
    }
  });

  it('bills a stream cancelled in the middle by the engine’s running count, and the engine stops', async () => {
    const account = await makeAccount(stack);
    const { data: stream, response } = await account.openai.chat.completions
      .create({
        model: MODEL,
        messages: [{ role: 'user', content: 'Talk for a long time [[sim: tokens=4000 itl_ms=10]]' }],
        stream: true,
      })
      .withResponse();
    let chunks = 0;
    for await (const _chunk of stream) {
      chunks += 1;
      if (chunks === 20) break; // leaves the loop, which aborts the request
    }
    const row = await account.untilUsage(response.headers);
    const served = await until('the engine to have stopped', async () => {
      const call = await findServed(stack, response.headers);
      return call?.state === 'aborted' ? call : undefined;
    });
    expect(row.prompt_tokens).toBe(served.promptTokens);
    expect(row.completion_tokens).toBeGreaterThanOrEqual(15);
    expect(row.completion_tokens).toBeLessThanOrEqual(served.completionTokens);
    expect(served.completionTokens).toBeLessThan(4000);
    await expectBilled(account, { headers: response.headers, model: MODEL, usage: row });
  });

  it('refuses a mistyped key with 401, and neither a row nor a charge comes of it', async () => {
    const account = await makeAccount(stack);
    const { apiKey } = account;
    const last = apiKey.at(-1) === 'a' ? 'b' : 'a';
    const mistyped = account.openai.withOptions({ apiKey: apiKey.slice(0, -1) + last });
    const error = await rejectionOf(
      mistyped.chat.completions.create({
        model: MODEL,
        messages: [{ role: 'user', content: 'hi' }],
      }),
    );
    expect(error).toBeInstanceOf(OpenAI.AuthenticationError);
    expect(error).toMatchObject({ status: 401, type: 'authentication_error', code: 'invalid_api_key' });

    // The key has no more to pay than it has paid.
    const { data, response } = await account.openai.chat.completions
      .create({ model: MODEL, messages: [{ role: 'user', content: 'hi [[sim: tokens=5]]' }] })
      .withResponse();
    await expectBilled(account, { headers: response.headers, model: MODEL, usage: data.usage });
  });

  it('refuses an unknown model with the wrapped 404 and says what was meant', async () => {
    const account = await makeAccount(stack);
    const error = await rejectionOf(
      account.openai.chat.completions.create({
        model: 'llama-3.3-70b-instrukt',
        messages: [{ role: 'user', content: 'hi' }],
      }),
    );
    expect(error).toBeInstanceOf(OpenAI.NotFoundError);
    expect(error).toMatchObject({
      status: 404,
      code: '404',
      type: 'None',
      param: 'None',
      error: { message: 'unknown_model', provider_specific_fields: { did_you_mean: expect.arrayContaining([MODEL]) } },
    });
    await expectNotAdmitted(account, error.headers);
  });

  it('names the replacement of a retired model', async () => {
    const account = await makeAccount(stack);
    const error = await rejectionOf(
      account.openai.chat.completions.create({
        model: 'llama-3.1-70b-instruct',
        messages: [{ role: 'user', content: 'hi' }],
      }),
    );
    expect(error).toMatchObject({
      status: 404,
      error: { message: 'unknown_model', provider_specific_fields: { suggested_model: MODEL } },
    });
  });

  it('refuses with 402 what the budget cannot carry at worst, and says what it could', async () => {
    const account = await makeAccount(stack, { maxBudgetUsd: '0.0001' });
    const error = await rejectionOf(
      account.openai.chat.completions.create({
        model: MODEL,
        messages: [{ role: 'user', content: 'hi' }],
        max_tokens: 2000,
        stream: true,
      }),
    );
    expect(error).toMatchObject({
      status: 402,
      error: {
        message: 'insufficient_balance',
        type: 'None',
        param: 'None',
        code: '402',
        provider_specific_fields: { key_remaining_usd: 0.0001, held_usd: 0, limited_by: 'key_budget' },
      },
    });
    const fields = (
      error.error as { provider_specific_fields: { max_usage_cost_usd: number; affordable_output_tokens: number } }
    ).provider_specific_fields;
    expect(fields.max_usage_cost_usd).toBeGreaterThan(0.0001);
    expect(fields.affordable_output_tokens).toBeGreaterThan(0);

    // The named amount is affordable.
    const answer = await account.openai.chat.completions.create({
      model: MODEL,
      messages: [{ role: 'user', content: 'hi' }],
      max_tokens: fields.affordable_output_tokens,
    });
    expect(answer.choices[0]?.finish_reason).toMatch(/stop|length/);
  });

  it('lets the same key go on after a top-up', async () => {
    const workspaceId = await stack.operator.makeWorkspace();
    const account = await makeAccount(stack, { workspaceId });
    const ask = () =>
      account.openai.chat.completions.create({
        model: MODEL,
        messages: [{ role: 'user', content: 'hi [[sim: tokens=5]]' }],
      });
    expect(await rejectionOf(ask())).toMatchObject({
      status: 402,
      error: { provider_specific_fields: { limited_by: 'credit' } },
    });
    await stack.operator.addCredit(workspaceId, '1');
    const answer = await until('the top-up to count', () => ask().catch(() => undefined));
    expect(answer.usage?.completion_tokens).toBe(5);
  });

  it('refuses with 429, Retry-After and the limit headers what is above the key’s requests per minute', async () => {
    const account = await makeAccount(stack, { rpm: 2 });
    const ask = () =>
      account.post('/chat/completions', {
        model: MODEL,
        messages: [{ role: 'user', content: 'hi [[sim: tokens=1]]' }],
      });
    const first = await ask();
    expect(first.status).toBe(200);
    expect(first.headers.get('x-ratelimit-limit-requests')).toBe('2');
    expect(first.headers.get('x-ratelimit-remaining-requests')).toBe('1');
    await first.text();
    await (await ask()).text();
    const refused = await ask();
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    expect(refused.headers.get('x-ratelimit-reset-requests')).toMatch(/^\d+(\.\d+)?s$/);
    expect(await refused.json()).toMatchObject({ error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' } });
  });

  it('ends a stream whose engine fails in an error event, and charges nothing', async () => {
    const account = await makeAccount(stack);
    const { data: stream, response } = await account.openai.chat.completions
      .create({
        model: MODEL,
        messages: [{ role: 'user', content: '[[sim: tokens=50 fault=reset_mid_stream after=5]]' }],
        stream: true,
      })
      .withResponse();
    const error = await rejectionOf(
      (async () => {
        for await (const _chunk of stream);
      })(),
    );
    expect(error).toBeInstanceOf(OpenAI.APIError);
    await expectUnbilled(account, response.headers);
  });

  it('lists the region’s models and shows the key as the headers do', async () => {
    const account = await makeAccount(stack, { rpm: 77, tpm: 7_700, maxBudgetUsd: '1.5' });
    const { status, body } = await account.get<object>('/svc/key');
    expect(status).toBe(200);
    expect(body).toEqual({
      object: 'key',
      currency: 'USD',
      key_name: `sk-...${account.apiKey.slice(-4)}`,
      spend_usd: 0,
      max_budget_usd: 1.5,
      remaining_budget_usd: 1.5,
      rate_limit: { rpm: 77, tpm: 7_700 },
      expires_at: null,
      generated_at: expect.any(String),
    });
    const listed = await account.get<{ object: string; data: OpenAI.Model[] }>('/models');
    expect(listed.body.object).toBe('list');
    const entry = listed.body.data.find(({ id }) => id === MODEL);
    expect(entry).toMatchObject({ object: 'model', owned_by: 'turnpike', is_ready: true });
    expect(listed.body.data.map(({ id }) => id)).not.toContain('llama-3.1-70b-instruct');
  });

  it.each([
    ['not JSON', '{"model":', 'application/json', null],
    ['not an object', '[]', 'application/json', null],
    ['no JSON content type', '{}', 'text/plain', null],
    ['no model', '{"messages":[{"role":"user","content":"hi"}]}', 'application/json', 'model'],
    ['no messages', `{"model":"${MODEL}"}`, 'application/json', 'messages'],
    [
      'a wrong role',
      `{"model":"${MODEL}","messages":[{"role":"wizard","content":"hi"}]}`,
      'application/json',
      'messages[0].role',
    ],
    ['n above 1', `{"model":"${MODEL}","messages":[{"role":"user","content":"hi"}],"n":2}`, 'application/json', 'n'],
    [
      'a temperature of text',
      `{"model":"${MODEL}","messages":[{"role":"user","content":"hi"}],"temperature":"hot"}`,
      'application/json',
      'temperature',
    ],
    [
      'an engine-control field',
      `{"model":"${MODEL}","messages":[{"role":"user","content":"hi"}],"cache_salt":"x"}`,
      'application/json',
      'cache_salt',
    ],
    ['nesting 65 deep', '['.repeat(65) + ']'.repeat(65), 'application/json', null],
  ])('answers a malformed body with the specified 400: %s', async (_case, body, contentType, param) => {
    const account = await makeAccount(stack);
    const response = await fetch(`${stack.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${account.apiKey}`, 'content-type': contentType },
      body,
    });
    expect(response.status).toBe(400);
    expect(response.headers.get('content-type')).toContain('application/json');
    expect(response.headers.get('x-router-call-id')).not.toBeNull();
    expect(response.headers.get('x-request-id')).not.toBeNull();
    expect(await response.json()).toEqual({
      error: { message: expect.any(String), type: 'invalid_request_error', param, code: null },
    });
  });
}
