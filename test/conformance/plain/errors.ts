import { expect } from '@jest/globals';
import { generateApiKey } from '@turnpike/api-keys/apiKey';
import { until } from '@turnpike/test-support/until';
import { expectNotAdmitted } from '../../support/expectBilled.ts';
import { inOneMonth } from '../../support/inOneMonth.ts';
import { makeAccount } from '../../support/makeAccount.ts';
import type { NewKey, NewWorkspace } from '../../support/operator.ts';
import { readFirstEvent } from '../../support/postJson.ts';
import { type Answer, type Client, createClient, expectSaidInHeaders } from '../support/http.ts';
import { client, stack } from '../support/plainStack.ts';
import { sendRaw } from '../support/rawHttp.ts';
import { row } from '../support/row.ts';
import { setEngines } from '../support/setEngines.ts';
import { badKey, DOC_URL, envelope, flat, invalid, withoutCode, wrapped } from '../support/shapes.ts';

const MODEL = 'llama-3.3-70b-instruct';
const ALIAS = 'llama-3.3-70b';
const FREE_MODEL = 'smollm2-1.7b-instruct';
/** One that no other row calls. */
const SPARE_MODEL = 'gemma-3-27b-it';
const SWITCHED_MODEL = 'qwen3-coder-30b-a3b-instruct';

const aChat = (fields: object = {}, directives = 'tokens=2') => ({
  model: MODEL,
  messages: [{ role: 'user', content: `hi [[sim: ttft_ms=0 itl_ms=0 ${directives}]]` }],
  ...fields,
});
const chatAs = (who: Client, fields: object = {}, directives?: string): Promise<Answer> =>
  who.post('/chat/completions', aChat(fields, directives));
const clientOf = async (key: NewKey = {}, workspace: NewWorkspace = { creditUsd: '10' }): Promise<Client> =>
  createClient(stack.baseUrl, await stack.operator.makeFundedKey(key, workspace));
const poor = () => clientOf({}, {});
const gateFieldsOf = ({ body }: Answer) =>
  (body as { error: { provider_specific_fields: Record<string, number> } }).error.provider_specific_fields;
const INFERENCE: [string, object][] = [
  ['/chat/completions', aChat()],
  ['/completions', { model: MODEL, prompt: 'hi' }],
  ['/embeddings', { model: 'bge-m3', input: 'hi' }],
];
const LOOK_UPS = ['/svc/key', '/svc/credit', '/svc/usage/request/01890000-0000-7000-8000-000000000000'];

async function expectInference401(as: Client): Promise<void> {
  for (const [path, body] of INFERENCE) {
    const answer = await as.post(path, body);
    expect({ path, status: answer.status, body: answer.body }).toEqual({ path, status: 401, body: badKey() });
  }
}

/** Sends headers of its own in place of a key. */
const withHeaders = (headers: Record<string, string>): Client => {
  const bareClient = createClient(stack.baseUrl);
  return {
    ...bareClient,
    get: (path) => bareClient.get(path, { headers }),
    post: (path, body) => bareClient.post(path, body, { headers }),
  };
};

row('errors.401.missing', () => expectInference401(createClient(stack.baseUrl)));

row('errors.401.malformed', async () => {
  await expectInference401(withHeaders({ authorization: 'Basic dXNlcjpwYXNz' }));
  await expectInference401(withHeaders({ authorization: `Bearer ${stack.apiKey}, Bearer ${stack.apiKey}` }));
});

row('errors.401.invalid', async () => {
  const mistyped = `${stack.apiKey.slice(0, -1)}${stack.apiKey.endsWith('a') ? 'b' : 'a'}`;
  const answers = await Promise.all(
    [mistyped, generateApiKey()].map((key) => chatAs(createClient(stack.baseUrl, key))),
  );
  expect(answers.map(({ status }) => status)).toEqual([401, 401]);
  expect(answers[0]?.body).toEqual(badKey());
  expect(answers[1]?.text).toBe(answers[0]?.text);
});

row('errors.401.revoked', async () => {
  const apiKey = await stack.operator.makeFundedKey();
  const revoked = createClient(stack.baseUrl, apiKey);
  expect((await chatAs(revoked)).status).toBe(200);
  await stack.operator.changeKey(apiKey, 'revoke');
  await expectInference401(revoked);
});

row('errors.401.expired', async () => {
  await expectInference401(await clientOf({ expiresAt: '2020-01-01T00:00:00Z' }));
});

row('errors.401.one-scheme', async () => {
  await expectInference401(withHeaders({ 'x-api-key': stack.apiKey, 'api-key': stack.apiKey }));
  const { status } = await createClient(stack.baseUrl).get(`/models?api_key=${stack.apiKey}`);
  expect(status).toBe(401);
});

row('errors.401.scheme-case', async () => {
  for (const scheme of ['bearer', 'BEARER']) {
    const as = withHeaders({ authorization: `${scheme} ${stack.apiKey}` });
    const answers = [await chatAs(as), await as.get('/models'), await as.get('/svc/key'), await as.get('/svc/usage')];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  }
});

row('errors.401.models', async () => {
  for (const who of [createClient(stack.baseUrl), createClient(stack.baseUrl, generateApiKey())]) {
    const { status, body } = await who.get('/models');
    expect({ status, body }).toEqual({ status: 401, body: withoutCode('auth', DOC_URL) });
  }
});

row('errors.401.service.missing', async () => {
  for (const path of LOOK_UPS) {
    const { status, body } = await createClient(stack.baseUrl).get(path);
    expect({ path, status, body }).toEqual({ path, status: 401, body: flat('missing_authorization', DOC_URL) });
  }
});

row('errors.401.service.malformed', async () => {
  for (const path of LOOK_UPS) {
    const { status, body } = await withHeaders({ authorization: 'Token abc' }).get(path);
    expect({ path, status, body }).toEqual({ path, status: 401, body: flat('malformed_authorization', DOC_URL) });
  }
});

row('errors.401.service.bad-key', async () => {
  for (const path of LOOK_UPS) {
    const { status, body } = await createClient(stack.baseUrl, generateApiKey()).get(path);
    expect({ path, status, body }).toMatchObject({
      path,
      status: 401,
      body: { error: { type: 'authentication_error' } },
    });
  }
});

row('errors.401.doc-url', async () => {
  const strangers = [createClient(stack.baseUrl, generateApiKey()), withHeaders({ authorization: 'Token abc' })];
  for (const who of [createClient(stack.baseUrl), ...strangers]) {
    const answers = [await chatAs(who)];
    for (const path of ['/models', ...LOOK_UPS]) answers.push(await who.get(path));
    for (const { status, body } of answers) {
      expect(status).toBe(401);
      const { error, ...fields } = body as { error: object | string };
      expect(typeof error === 'string' ? fields : error).toMatchObject(DOC_URL);
    }
  }
});

row('errors.402.credit', async () => {
  const { status, body } = await chatAs(await poor());
  expect({ status, body }).toEqual({
    status: 402,
    body: wrapped(402, 'insufficient_balance', { limited_by: 'credit' }),
  });
});

row('errors.402.key-budget', async () => {
  const { status, body } = await chatAs(await clientOf({ maxBudgetUsd: '0.000001' }));
  const fields = { limited_by: 'key_budget', key_remaining_usd: 0.000001 };
  expect({ status, body }).toEqual({ status: 402, body: wrapped(402, 'insufficient_balance', fields) });
});

row('errors.402.key-period-budget', async () => {
  const periods = { day: 1, week: 7, month: 31 } as const;
  for (const period of ['day', 'week', 'month'] as const) {
    const key = await clientOf({ periodBudget: { period, maxUsd: '0.000001' } });
    const { status, body, headers } = await chatAs(key);
    const fields = { limited_by: 'key_budget', remaining_usd: 0.000001, key_remaining_usd: null };
    expect({ status, body }).toEqual({ status: 402, body: wrapped(402, 'insufficient_balance', fields) });
    const sentence = headers.get('x-error-message') ?? '';
    expect(sentence).toContain(`the budget of this key for the ${period} has 0.000001 USD left`);
    const [, instant = ''] = /wait until (\S+), when it begins anew/.exec(sentence) ?? [];
    const waitMs = Date.parse(instant) - Date.now();
    expect(waitMs).toBeGreaterThan(-60_000);
    expect(waitMs).toBeLessThanOrEqual(periods[period] * 86_400_000);
    expect((await chatAs(key, { model: FREE_MODEL })).status).toBe(200);
  }
});

row('errors.402.monthly-cap', async () => {
  const { status, body } = await chatAs(await clientOf({}, { creditUsd: '10', monthlyCapUsd: '0.000001' }));
  const fields = { limited_by: 'monthly_cap' };
  expect({ status, body }).toEqual({ status: 402, body: wrapped(402, 'insufficient_balance', fields) });
});

row('errors.402.worst-case', async () => {
  const account = await makeAccount(stack, { maxBudgetUsd: '0.0001' });
  const response = await account.post('/chat/completions', aChat({ max_tokens: 2_000 }));
  expect(response.status).toBe(402);
  const { error } = (await response.json()) as { error: { provider_specific_fields: Record<string, number> } };
  expect(error.provider_specific_fields.key_remaining_usd).toBe(0.0001);
  // 2,000 tokens at 0.4 USD a million, and a short prompt.
  expect(error.provider_specific_fields.max_usage_cost_usd).toBeGreaterThan(0.0008);
  expect(error.provider_specific_fields.max_usage_cost_usd).toBeLessThan(0.0009);
  await expectNotAdmitted(account, response.headers);
});

row('errors.402.affordable', async () => {
  const account = await clientOf({ maxBudgetUsd: '0.0001' });
  const { affordable_output_tokens: affordable = 0 } = gateFieldsOf(await chatAs(account, { max_tokens: 2_000 }));
  expect(affordable).toBeGreaterThan(0);
  expect((await chatAs(account, { max_tokens: affordable })).status).toBe(200);
});

row('errors.402.remaining', async () => {
  const asked = { max_tokens: 2_000 };
  for (const [name, who] of [
    ['budget of this key', await clientOf({ maxBudgetUsd: '0.0001' })],
    ['credit of the workspace', await clientOf({}, { creditUsd: '0.0001' })],
    ['monthly cap of the workspace', await clientOf({}, { creditUsd: '10', monthlyCapUsd: '0.0001' })],
  ] as const) {
    const answer = await chatAs(who, asked);
    const { remaining_usd, max_usage_cost_usd, affordable_output_tokens } = gateFieldsOf(answer);
    expect({ name, remaining_usd }).toEqual({ name, remaining_usd: 0.0001 });
    const sentence = answer.headers.get('x-error-message');
    expect(sentence).toContain(`up to ${max_usage_cost_usd} USD`);
    expect(sentence).toContain(`the ${name} has 0.0001 USD left`);
    expect(sentence).toContain(`at most ${affordable_output_tokens} output tokens`);
  }
});

row('errors.402.held', async () => {
  const account = await clientOf({ maxBudgetUsd: '0.0005' });
  const leaving = new AbortController();
  const asked = aChat({ stream: true, max_tokens: 1_000 }, 'tokens=50 fault=stall after=1');
  await readFirstEvent(await account.open('/chat/completions', asked, leaving.signal));
  const refused = await chatAs(account, { max_tokens: 1_000 });
  leaving.abort();
  expect(refused.status).toBe(402);
  expect(gateFieldsOf(refused).key_remaining_usd).toBe(0.0005);
  expect(gateFieldsOf(refused).held_usd).toBeGreaterThan(0.0004);
});

row('errors.402.spend-cap-reached', async () => {
  const { status, body } = await inOneMonth(async () => {
    const account = await makeAccount(stack);
    const spent = await account.post('/chat/completions', aChat());
    await account.untilUsage(spent.headers);
    await stack.operator.capWorkspace(account.workspaceId, 1n);
    return chatAs(createClient(stack.baseUrl, account.apiKey));
  });
  expect({ status, body }).toEqual({ status: 402, body: wrapped(402, 'spend_cap_reached') });
});

row('errors.402.on-hold', async () => {
  const { status, body } = await chatAs(await clientOf({}, { creditUsd: '10', billingStatus: 'on_hold' }));
  expect({ status, body }).toEqual({ status: 402, body: wrapped(402, 'account_on_hold') });
});

row('errors.402.not-provisioned', async () => {
  const { status, body } = await chatAs(await clientOf({}, { creditUsd: '10', billingStatus: 'not_provisioned' }));
  expect({ status, body }).toEqual({ status: 402, body: wrapped(402, 'billing_not_provisioned') });
});

row('errors.402.doc-url', async () => {
  const answers = [
    await chatAs(await poor()),
    await chatAs(await clientOf({ maxBudgetUsd: '0.000001' })),
    await chatAs(await clientOf({}, { creditUsd: '10', billingStatus: 'on_hold' })),
    await chatAs(await clientOf({}, { creditUsd: '10', billingStatus: 'not_provisioned' })),
  ];
  expect(answers.map(({ status }) => status)).toEqual([402, 402, 402, 402]);
  for (const answer of answers) expect(gateFieldsOf(answer)).toMatchObject(DOC_URL);
});

row('errors.402.free-model', async () => {
  expect((await chatAs(await poor(), { model: FREE_MODEL })).status).toBe(200);
});

row('errors.402.free-on-hold', async () => {
  for (const billingStatus of ['on_hold', 'not_provisioned'] as const) {
    expect((await chatAs(await clientOf({}, { billingStatus }), { model: FREE_MODEL })).status).toBe(402);
  }
});

row('errors.402.top-up', async () => {
  const account = await makeAccount(stack, { workspaceId: await stack.operator.makeWorkspace() });
  const ask = () => account.post('/chat/completions', aChat());
  expect((await ask()).status).toBe(402);
  await stack.operator.addCredit(account.workspaceId, '1');
  await until('the top-up to count', async () => ((await ask()).status === 200 ? true : undefined));
});

row('errors.402.cap-raise', async () => {
  const account = await makeAccount(stack);
  const ask = () => account.post('/chat/completions', aChat());
  await stack.operator.capWorkspace(account.workspaceId, 1n);
  expect((await ask()).status).toBe(402);
  await stack.operator.capWorkspace(account.workspaceId, 1_000_000_000n);
  await until('the new cap to count', async () => ((await ask()).status === 200 ? true : undefined));
});

row('errors.402.embeddings', async () => {
  const { status, body } = await (await poor()).post('/embeddings', { model: 'bge-m3', input: 'hi' });
  expect({ status, body }).toEqual({
    status: 402,
    body: wrapped(402, 'insufficient_balance', { limited_by: 'credit' }),
  });
});

/** A client whose key was blocked, after it had been let in. */
async function blocked(): Promise<Client> {
  const apiKey = await stack.operator.makeFundedKey();
  const it = createClient(stack.baseUrl, apiKey);
  expect((await chatAs(it)).status).toBe(200);
  await stack.operator.changeKey(apiKey, 'block');
  return it;
}

row('errors.403.blocked.chat', async () => {
  const key = await blocked();
  for (const [path, body] of INFERENCE) {
    expect(await key.post(path, body)).toMatchObject({ status: 403, body: { error: { message: expect.any(String) } } });
  }
});

row('errors.403.blocked.models', async () => {
  const { status, body } = await (await blocked()).get('/models');
  expect({ status, body }).toEqual({ status: 403, body: withoutCode('auth') });
});

row('errors.403.blocked.service', async () => {
  const key = await blocked();
  for (const path of [...LOOK_UPS, '/svc/usage']) {
    const { status, body } = await key.get(path);
    const told = envelope('authentication_error', 'key_blocked', DOC_URL);
    expect({ path, status, body }).toEqual({ path, status: 401, body: told });
    expect(body).toMatchObject({ error: { message: 'This API key is blocked by an administrator.' } });
  }
});

row('errors.403.model', async () => {
  const key = await clientOf({ allowedModels: [FREE_MODEL, SPARE_MODEL] });
  for (const [path, body] of INFERENCE) {
    const answer = await key.post(path, body);
    const refusal = envelope('permission_error', 'model_not_allowed', { param: 'model' });
    expect([path, answer.status, answer.body]).toEqual([path, 403, refusal]);
    expect(answer.headers.get('x-should-retry')).toBe('false');
    expect(answer.headers.has('x-ratelimit-limit-requests')).toBe(false);
  }
  const { body } = await chatAs(key);
  expect(body).toMatchObject({
    error: {
      message: `This key may not call ${MODEL}, so nothing was run or charged. It may call ${FREE_MODEL} and ${SPARE_MODEL}; ask your administrator for others.`,
    },
  });
  expect((await chatAs(key, { model: FREE_MODEL })).status).toBe(200);
  const byAlias = await clientOf({ allowedModels: [MODEL] });
  expect((await chatAs(byAlias, { model: ALIAS })).status).toBe(200);
  const { body: list } = await byAlias.get('/models');
  expect((list as { data: unknown[] }).data.length).toBeGreaterThan(1);
});

row('errors.404.unknown-model', async () => {
  const { status, body } = await chatAs(client, { model: 'no-such-model' });
  expect({ status, body }).toEqual({
    status: 404,
    body: wrapped(404, 'unknown_model', { did_you_mean: expect.any(Array) }),
  });
});

row('errors.404.did-you-mean', async () => {
  const meantBy = async (model: string) => gateFieldsOf(await chatAs(client, { model })).did_you_mean;
  expect(await meantBy('llama-3.3-70b-instrukt')).toEqual(expect.arrayContaining([MODEL]));
  expect(await meantBy('zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz')).toEqual([]);
});

row('errors.404.retired', async () => {
  const { status, body } = await chatAs(client, { model: 'llama-3.1-70b-instruct' });
  const fields = { suggested_model: MODEL, did_you_mean: expect.any(Array) };
  expect({ status, body }).toEqual({ status: 404, body: wrapped(404, 'unknown_model', fields) });
});

const limited = () => envelope('rate_limit_error', 'rate_limit_exceeded', DOC_URL);

/** A client whose one request a minute is used up. */
async function exhausted(workspace?: NewWorkspace): Promise<Client> {
  const it = await clientOf({ rpm: 1 }, workspace);
  expect((await chatAs(it, { model: FREE_MODEL })).status).toBe(200);
  return it;
}

row('errors.429.rpm', async () => {
  const { status, body } = await chatAs(await exhausted());
  expect({ status, body }).toEqual({ status: 429, body: limited() });
});

row('errors.429.retry-after', async () => {
  const { headers } = await chatAs(await exhausted());
  expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  expect(headers.get('x-ratelimit-limit-requests')).toBe('1');
  expect(headers.get('x-ratelimit-remaining-requests')).toBe('0');
  expect(headers.get('x-ratelimit-reset-requests')).toMatch(/^\d+(\.\d+)?s$/);
  expect(headers.get('x-ratelimit-remaining-tokens')).toMatch(/^\d+$/);
});

row('errors.429.tpm', async () => {
  const account = await clientOf({ tpm: 100 });
  expect((await chatAs(account, {}, 'tokens=400')).status).toBe(200);
  const { status, body, headers } = await chatAs(account);
  expect({ status, body }).toEqual({ status: 429, body: limited() });
  expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  expect(headers.get('x-ratelimit-remaining-tokens')).toBe('0');
});

row('errors.429.sentence', async () => {
  const tokens = await clientOf({ tpm: 100 });
  expect((await chatAs(tokens, {}, 'tokens=400')).status).toBe(200);
  for (const [limit, { status, headers }] of [
    ['1 requests per minute', await chatAs(await exhausted())],
    ['100 tokens per minute', await chatAs(tokens)],
  ] as const) {
    expect(status).toBe(429);
    const sentence = `Rate limit reached: ${limit} for this key. Retry in ${headers.get('retry-after')} s.`;
    expect(headers.get('x-error-message')).toBe(sentence);
  }
});

row('errors.429.doc-url', async () => {
  const of = { requests: await exhausted(), tokens: await clientOf({ tpm: 100 }) };
  expect((await chatAs(of.tokens, {}, 'tokens=400')).status).toBe(200);
  for (const key of Object.values(of)) {
    for (const [path, body] of INFERENCE)
      expect(await key.post(path, body)).toMatchObject({ status: 429, body: { error: DOC_URL } });
  }
});

row('errors.429.unbilled', async () => {
  const account = await makeAccount(stack, { rpm: 1 });
  const admitted = await account.post('/chat/completions', aChat({ model: FREE_MODEL }));
  const refused = await account.post('/chat/completions', aChat());
  expect(refused.status).toBe(429);
  await account.untilUsage(admitted.headers);
  expect((await account.get(`/svc/usage/request/${refused.headers.get('x-router-call-id')}`)).status).toBe(404);
  expect(await account.findSpend()).toBe(0n);
});

row('errors.429.service-exempt', async () => {
  const key = await exhausted();
  expect([(await key.get('/svc/key')).status, (await key.get('/models')).status]).toEqual([200, 200]);
});

row('errors.500', async () => {
  const { status, body, headers } = await chatAs(client, {}, 'fault=http_500');
  expect(status).toBe(500);
  expect(body).toMatchObject({ error: { message: expect.any(String), type: expect.any(String) } });
  expect(headers.get('x-should-retry')).toBe('false');
});

const unavailable = () => envelope('service_unavailable', 'service_unavailable');

row('errors.503.no-healthy-engine', async () => {
  await setEngines(stack, SPARE_MODEL, { state: 'refusing' });
  const { status, body, headers } = await until('the model to be without engines', async () => {
    const answer = await chatAs(client, { model: SPARE_MODEL });
    return answer.status === 503 ? answer : undefined;
  });
  expect({ status, body }).toEqual({ status: 503, body: unavailable() });
  expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
});

row('errors.503.listed-not-ready', async () => {
  await setEngines(stack, SPARE_MODEL, { state: 'refusing' });
  await until('the model to be listed as not ready', async () => {
    const { data } = (await client.get('/models')).body as { data: { id: string; is_ready: boolean }[] };
    return data.find(({ id }) => id === SPARE_MODEL)?.is_ready === false ? true : undefined;
  });
  await setEngines(stack, SPARE_MODEL, { state: 'serving' });
});

row('errors.503.busy', async () => {
  const { status, body, headers } = await chatAs(client, { model: 'qwen3-32b' }, 'fault=http_503');
  expect({ status, body }).toEqual({ status: 503, body: unavailable() });
  expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
});

/** Disables a model while a check runs that needs to see it so. */
async function whileDisabled(check: () => Promise<void>): Promise<void> {
  await stack.operator.switchModel(SWITCHED_MODEL, 'disable');
  await until('the router to know', async () =>
    (await chatAs(client, { model: SWITCHED_MODEL })).status === 503 ? true : undefined,
  );
  await check();
  await stack.operator.switchModel(SWITCHED_MODEL, 'enable');
}

row('errors.503.disabled', () =>
  whileDisabled(async () => {
    const { status, body, headers } = await chatAs(client, { model: SWITCHED_MODEL });
    const fields = { param: expect.anything() };
    expect({ status, body }).toEqual({
      status: 503,
      body: envelope('service_unavailable', 'model_deactivated', fields),
    });
    expect(headers.get('x-should-retry')).toBe('false');
    const { data } = (await client.get('/models')).body as { data: { id: string }[] };
    expect(data.map(({ id }) => id)).not.toContain(SWITCHED_MODEL);
    const broke = await chatAs(await poor(), { model: SWITCHED_MODEL });
    expect(broke.status).toBe(503);
  }),
);

row('gates.401-before-400', async () => {
  const { status } = await createClient(stack.baseUrl, generateApiKey()).post('/chat/completions', '{"model":');
  expect(status).toBe(401);
});

row('gates.403-before-400', async () => {
  const apiKey = await stack.operator.makeFundedKey();
  await stack.operator.changeKey(apiKey, 'block');
  const { status } = await createClient(stack.baseUrl, apiKey).post('/chat/completions', '{"model":');
  expect(status).toBe(403);
});

row('gates.400-before-404', async () => {
  expect(await chatAs(client, { model: 'no-such-model', n: 2 })).toMatchObject({ status: 400, body: invalid('n') });
});

row('gates.404-before-402', async () => {
  expect(await chatAs(await poor(), { model: 'no-such-model' })).toMatchObject({ status: 404 });
});

row('gates.404-before-403', async () => {
  expect(await chatAs(await clientOf({ allowedModels: [MODEL] }), { model: 'no-such-model' })).toMatchObject({
    status: 404,
  });
});

row('gates.403-before-402', async () => {
  expect(await chatAs(await clientOf({ allowedModels: [SPARE_MODEL] }, {}))).toMatchObject({ status: 403 });
});

row('gates.429-before-402', async () => {
  const key = await exhausted({});
  expect(await chatAs(key)).toMatchObject({ status: 429 });
});

row('gates.402-takes-nothing', async () => {
  const key = await clientOf({ rpm: 1 }, {});
  expect((await chatAs(key)).status).toBe(402);
  expect((await chatAs(key)).status).toBe(402);
  expect((await chatAs(key, { model: FREE_MODEL })).status).toBe(200);
});

row('gates.400-takes-nothing', async () => {
  const key = await clientOf({ rpm: 1 });
  expect((await chatAs(key, { n: 2 })).status).toBe(400);
  expect((await chatAs(key, { model: 'no-such-model' })).status).toBe(404);
  expect((await chatAs(key)).status).toBe(200);
});

const RATE_LIMIT_HEADERS = ['limit', 'remaining', 'reset']
  .flatMap((what) => [`x-ratelimit-${what}-requests`, `x-ratelimit-${what}-tokens`])
  .sort();
const rateLimitHeadersOf = ({ headers }: Answer) =>
  [...headers.keys()].filter((name) => name.startsWith('x-ratelimit'));

row('headers.call-id', async () => {
  const answers = [
    ...(await Promise.all(INFERENCE.map(([path, body]) => client.post(path, body)))),
    await chatAs(client, { stream: true }),
    await chatAs(client, { n: 2 }),
    await chatAs(client, { model: 'no-such-model' }),
    await chatAs(await poor()),
    await chatAs(await exhausted()),
    await chatAs(client, {}, 'fault=http_500'),
    await client.post('/chat/completions', '{"model":'),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 400, 404, 402, 429, 500, 400]);
  const ids = answers.map(({ headers }) => headers.get('x-router-call-id'));
  expect(ids.filter((id) => !/^[0-9a-f-]{36}$/.test(id ?? ''))).toEqual([]);
  expect(new Set(ids).size).toBe(ids.length);
});

row('headers.no-call-id', async () => {
  const answers = [
    await chatAs(createClient(stack.baseUrl)),
    await client.get('/models'),
    await client.get('/svc/key'),
    await client.get(LOOK_UPS.at(-1) ?? ''),
  ];
  expect(answers.map(({ headers }) => headers.get('x-router-call-id'))).toEqual([null, null, null, null]);
});

row('headers.request-id', async () => {
  const own = { headers: { 'x-request-id': 'mine', 'x-router-call-id': 'mine' } };
  const answers = [
    await client.post('/chat/completions', aChat(), own),
    await client.post('/chat/completions', aChat({ n: 2 }), own),
    await client.get('/models', own),
    await client.get('/svc/key', own),
    await client.get('/no-such-path', own),
    await createClient(stack.baseUrl).get('/models', own),
  ];
  const ids = answers.map(({ headers }) => headers.get('x-request-id'));
  expect(ids.filter((id) => id === null || id === 'mine')).toEqual([]);
  expect(new Set(ids).size).toBe(ids.length);
  expect(answers[0]?.headers.get('x-router-call-id')).not.toBe('mine');
});

row('headers.rate-limit', async () => {
  const answers = [
    await chatAs(client),
    await chatAs(client, { stream: true }),
    await client.post('/embeddings', { model: 'bge-m3', input: 'hi' }),
    await chatAs(client, {}, 'fault=http_500'),
    await chatAs(client, {}, 'no-such-directive'),
    await chatAs(await exhausted()),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 500, 400, 429]);
  for (const answer of answers) expect(rateLimitHeadersOf(answer).sort()).toEqual(RATE_LIMIT_HEADERS);
});

row('headers.rate-limit.absent', async () => {
  const answers = [
    await chatAs(createClient(stack.baseUrl)),
    await chatAs(client, { n: 2 }),
    await chatAs(client, { model: 'no-such-model' }),
    await client.get('/models'),
    await client.get('/svc/key'),
  ];
  expect(answers.flatMap(rateLimitHeadersOf)).toEqual([]);
});

row('headers.reset-format', async () => {
  const { headers } = await chatAs(await clientOf({ rpm: 7, tpm: 7_000 }));
  for (const what of ['requests', 'tokens']) {
    expect(headers.get(`x-ratelimit-reset-${what}`)).toMatch(/^\d+(\.\d+)?s$/);
    expect(headers.get(`x-ratelimit-limit-${what}`)).toMatch(/^7(000)?$/);
    expect(headers.get(`x-ratelimit-remaining-${what}`)).toMatch(/^\d+$/);
  }
});

row('headers.should-retry', async () => {
  const answers = [
    await chatAs(await poor()),
    await chatAs(await blocked()),
    await chatAs(client, { model: 'no-such-model' }),
    await chatAs(client, {}, 'fault=http_500'),
  ];
  expect(answers.map(({ status }) => status)).toEqual([402, 403, 404, 500]);
  expect(answers.map(({ headers }) => headers.get('x-should-retry'))).toEqual(['false', 'false', 'false', 'false']);
  const mayRetry = [await chatAs(client), await chatAs(await exhausted())];
  expect(mayRetry.map(({ headers }) => headers.get('x-should-retry'))).toEqual([null, null]);
});

row('headers.json', async () => {
  const answers = [
    await chatAs(createClient(stack.baseUrl)),
    await chatAs(client, { n: 2 }),
    await chatAs(await poor()),
    await chatAs(client, {}, 'fault=http_500_html'),
    await client.get('/no-such-path'),
    await client.get('/chat/completions'),
    await client.get(LOOK_UPS.at(-1) ?? ''),
  ];
  expect(answers.map(({ status }) => status)).toEqual([401, 400, 402, 500, 404, 405, 404]);
  for (const { headers, body } of answers) {
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(body).toEqual(expect.any(Object));
  }
});

row('headers.error-message', async () => {
  const nobody = createClient(stack.baseUrl);
  // Each is compared with its body as the client reads it.
  const answers = [
    await chatAs(nobody),
    await chatAs(client, { n: 2 }),
    await chatAs(await poor()),
    await chatAs(await blocked()),
    await chatAs(client, { model: 'no-such-model' }),
    await chatAs(await exhausted()),
    await chatAs(client, {}, 'fault=http_500'),
    await client.post('/chat/completions', '{"'),
    await nobody.get('/models'),
    await (await blocked()).get('/models'),
    await client.get('/models/no-such-model'),
    await nobody.get('/svc/key'),
    await client.get(LOOK_UPS.at(-1) ?? ''),
    await client.get('/svc/usage?start=x'),
    await nobody.get('/videos'),
    await client.post('/images/generations', { model: 'flux.1-schnell', prompt: 'x', size: '1x1' }),
    await client.post('/audio/transcriptions', {}),
    await client.get('/no-such-path'),
    await client.get('/chat/completions'),
    await client.post('/batches', {}),
  ];
  expect(answers.map(({ status }) => status)).toEqual([
    401, 400, 402, 403, 404, 429, 500, 400, 401, 403, 404, 401, 404, 400, 401, 422, 422, 404, 405, 404,
  ]);
  expect(answers[15]?.headers.get('x-error-message')).toContain('512x512');
  expect(answers[15]?.headers.get('x-error-param')).toBe('size');
  const { body, headers, status } = await sendRaw(stack.baseUrl, 'GET /v1/models HTTP/1.1\r\nno header\r\n\r\n');
  expect(status).toBe(400);
  expectSaidInHeaders({ status, headers: new Headers([...headers]), body: JSON.parse(body) });
});

row('headers.error-message.injection', async () => {
  const field = 'x\r\nset-cookie: a=b\r\n\r\n<html>';
  const answers = [
    await chatAs(client, { messages: [{ role: 'user', content: [{ type: field }] }] }),
    await chatAs(client, {}, `fault=http_400 message="${field}"`),
    await client.post('/images/generations', { model: 'flux.1-schnell', prompt: 'x', [field]: 1 }),
    await client.get(`/svc/usage?${encodeURIComponent(field)}=1`),
  ];
  expect(answers.map(({ status }) => status)).toEqual([400, 400, 422, 400]);
  for (const { headers } of answers) {
    expect(headers.has('set-cookie')).toBe(false);
    expect(headers.get('x-error-message') ?? '').toMatch(/^[ -~]{1,300}$/);
    expect(headers.get('x-error-param') ?? 'none').toMatch(/^[ -~]{1,300}$/);
  }
});

row('headers.no-cors', async () => {
  const origin = { headers: { origin: 'https://example.com' } };
  const preflight = await fetch(`${stack.baseUrl}/chat/completions`, {
    method: 'OPTIONS',
    headers: { ...origin.headers, 'access-control-request-method': 'POST' },
  });
  const answers = [
    await client.post('/chat/completions', aChat(), origin),
    await client.get('/models', origin),
    preflight,
  ];
  const names = answers.flatMap(({ headers }) => [...headers.keys()]);
  expect(names.filter((name) => name.startsWith('access-control'))).toEqual([]);
});

row('headers.no-leak', async () => {
  const secret = 'Geheimnis-4711';
  const answers = [
    await chatAs(createClient(stack.baseUrl, generateApiKey()), {}, `text="${secret}"`),
    await chatAs(client, { n: 2 }, `text="${secret}"`),
    await chatAs(client, {}, `fault=http_500 text="${secret}"`),
    await chatAs(await poor(), {}, `text="${secret}"`),
    await client.post('/chat/completions', `{"${secret}`),
  ];
  for (const { status, text } of answers) {
    expect(status).toBeGreaterThanOrEqual(400);
    for (const leak of [secret, stack.apiKey, '127.0.0.1', 'node_modules', '.ts:', 'at ']) {
      expect(leak === 'at ' ? / {4}at /.test(text) : text.includes(leak)).toBe(false);
    }
  }
});
