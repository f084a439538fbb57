import { expect } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { AccountUser } from '../../support/accountUser.ts';
import { daysAroundNow } from '../../support/daysAroundNow.ts';
import { expectBilled, type SeenUsage } from '../../support/expectBilled.ts';
import { inOneMonth } from '../../support/inOneMonth.ts';
import { type Account, makeAccount } from '../../support/makeAccount.ts';
import { toNano } from '../../support/priceOf.ts';
import { createClient } from '../support/http.ts';
import { stack } from '../support/plainStack.ts';
import { row } from '../support/row.ts';
import { DOC_URL, flat, withoutCode } from '../support/shapes.ts';

const MODEL = 'llama-3.3-70b-instruct';
const ALIAS = 'llama-3.3-70b';
const PRICES = ['prompt', 'completion', 'input_cache_read', 'request', 'image', 'web_search', 'internal_reasoning'];
const MEDIA_CATEGORIES = ['image', 'audio', 'video'];
const CATEGORIES = ['text', 'code', 'reasoning', 'multimodal', 'embeddings', ...MEDIA_CATEGORIES];

interface Entry {
  id: string;
  category: string;
  pricing: Record<string, string>;
  unit_price?: string;
  is_free: boolean;
  supported_features: string[];
}
const isMedia = ({ category }: Entry): boolean => MEDIA_CATEGORIES.includes(category);

const seeded = () => createClient(stack.baseUrl, stack.apiKey);
async function listed(): Promise<Entry[]> {
  const { status, body } = await seeded().get('/models');
  expect(status).toBe(200);
  return (body as { data: Entry[] }).data;
}
const aChat = (directives: string, fields: object = {}) => ({
  model: MODEL,
  messages: [{ role: 'user', content: `hi [[sim: ttft_ms=0 itl_ms=0 ${directives}]]` }],
  ...fields,
});
const chat = (account: Account, directives = 'tokens=3', fields: object = {}) =>
  account.post('/chat/completions', aChat(directives, fields));
const keyOf = async (account: Account) => (await account.get<Record<string, unknown>>('/svc/key')).body;

row('models.list', async () => {
  const { body } = await seeded().get('/models');
  expect(body).toEqual({ object: 'list', data: expect.any(Array) });
  const ids = (await listed()).map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toEqual(expect.arrayContaining([MODEL, 'bge-m3', 'qwen2.5-vl-7b-instruct']));
});

row('models.entry', async () => {
  const texts = expect.arrayContaining([expect.any(String)]);
  for (const entry of await listed()) {
    expect(entry).toEqual({
      id: expect.any(String),
      object: 'model',
      created: expect.any(Number),
      owned_by: expect.any(String),
      hugging_face_id: expect.any(String),
      aliases: expect.any(Array),
      name: expect.any(String),
      category: expect.any(String),
      input_modalities: texts,
      output_modalities: texts,
      quantization: expect.any(String),
      context_length: expect.any(Number),
      max_output_length: expect.any(Number),
      pricing: expect.any(Object),
      ...(isMedia(entry) && {
        billing_unit: expect.any(String),
        unit_price: expect.any(String),
        capabilities: expect.any(Object),
      }),
      ...(!isMedia(entry) && { supported_endpoints: texts }),
      is_free: expect.any(Boolean),
      is_ready: expect.any(Boolean),
      supported_features: expect.any(Array),
      supported_parameters: expect.any(Array),
      supported_sampling_parameters: expect.any(Array),
    });
  }
});

row('models.convention', async () => {
  for (const entry of await listed()) {
    expect(entry).toMatchObject({ object: 'model', owned_by: 'turnpike' });
    expect(Number.isInteger((entry as unknown as { created: number }).created)).toBe(true);
    expect(entry.id).not.toContain('/');
  }
});

row('models.category', async () => {
  const categories = new Set((await listed()).map(({ category }) => category));
  expect([...categories].sort()).toEqual([...CATEGORIES].sort());
});

row('models.pricing', async () => {
  for (const entry of await listed()) {
    const { pricing, unit_price: unitPrice, is_free: isFree } = entry;
    expect(Object.keys(pricing).sort()).toEqual([...PRICES].sort());
    for (const price of Object.values(pricing)) expect(price).toMatch(/^\d+(\.\d+)?$/);
    const prices = isMedia(entry) ? [unitPrice] : Object.values(pricing);
    expect(isFree).toBe(prices.every((price) => Number(price) === 0));
  }
});

row('models.internal-prices', async () => {
  const prices = (await listed()).flatMap(({ pricing }) => [pricing.internal_reasoning, pricing.web_search]);
  expect(new Set(prices)).toEqual(new Set(['0']));
});

row('models.tools', async () => {
  const entries = await listed();
  for (const label of ['tools', 'tool_use']) {
    const labeled = entries.filter((entry) => entry.supported_features.includes(label)).map(({ id }) => id);
    expect(labeled).toContain(MODEL);
    expect(labeled).not.toContain('bge-m3');
  }
});

row('models.live-only', async () => {
  const ids = (await listed()).map(({ id }) => id);
  // Models without an engine are missing too: row regions.own-list tests that in a region that has none for some.
  expect(ids).not.toContain('llama-3.1-70b-instruct');
});

row('models.one', async () => {
  const entry = (await listed()).find(({ id }) => id === MODEL);
  expect(entry).toMatchObject({ id: MODEL, object: 'model', owned_by: 'turnpike', aliases: [ALIAS], is_ready: true });
  for (const name of [MODEL, ALIAS]) {
    const { status, body } = await seeded().get(`/models/${name}`);
    expect({ name, status, body }).toEqual({ name, status: 200, body: entry });
  }
});

row('models.one.unknown', async () => {
  // Unknown, and retired.
  for (const name of ['no-such-model', 'llama-3.1-70b-instruct']) {
    const { status, body } = await seeded().get(`/models/${name}`);
    const error = { message: expect.any(String), type: 'invalid_request_error', code: 'model_not_found' };
    expect({ name, status, body }).toEqual({ name, status: 404, body: { error: expect.objectContaining(error) } });
  }
});

row('models.needs-key', async () => {
  const { status, body } = await createClient(stack.baseUrl).get('/models');
  expect({ status, body }).toEqual({ status: 401, body: withoutCode('auth', DOC_URL) });
});

row('key.fields', async () => {
  expect(await keyOf(await makeAccount(stack, { rpm: 77, tpm: 7_700, maxBudgetUsd: '1.5' }))).toEqual({
    object: 'key',
    currency: 'USD',
    key_name: expect.any(String),
    spend_usd: 0,
    max_budget_usd: 1.5,
    remaining_budget_usd: 1.5,
    rate_limit: { rpm: 77, tpm: 7_700 },
    expires_at: null,
    generated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/),
  });
});

row('key.masked', async () => {
  const account = await makeAccount(stack);
  const { status, text } = await createClient(stack.baseUrl, account.apiKey).get('/svc/key');
  expect(status).toBe(200);
  expect(JSON.parse(text).key_name).toBe(`sk-...${account.apiKey.slice(-4)}`);
  expect(text).not.toContain(account.apiKey.slice(3, -4));
});

row('key.spend', async () => {
  const account = await makeAccount(stack);
  const { headers } = await chat(account, 'tokens=40');
  const { total_spend: spend } = await account.untilUsage(headers);
  expect(spend).toBeGreaterThan(0);
  expect(await account.findSpend()).toBe(toNano(spend));
});

row('key.budget', async () => {
  const account = await makeAccount(stack, { maxBudgetUsd: '0.0009' });
  const { headers } = await chat(account, 'tokens=100', { max_tokens: 100 });
  await account.untilUsage(headers);
  const key = (await keyOf(account)) as { spend_usd: number; remaining_budget_usd: number };
  expect(toNano(key.remaining_budget_usd)).toBe(900_000n - toNano(key.spend_usd));
  const refused = await chat(account, 'tokens=1', { max_tokens: 16_000, stream: true });
  expect(refused.status).toBe(402);
  const { error } = (await refused.json()) as { error: { provider_specific_fields: { key_remaining_usd: number } } };
  expect(error.provider_specific_fields.key_remaining_usd).toBe(key.remaining_budget_usd);
});

row('key.period-budget', async () => {
  const account = await makeAccount(stack, { periodBudget: { period: 'month', maxUsd: '0.0009' } });
  const answer = await inOneMonth(async () => {
    const { headers } = await chat(account, 'tokens=100', { max_tokens: 100 });
    await account.untilUsage(headers);
    return chat(account, 'tokens=1', { max_tokens: 16_000, stream: true });
  });
  expect(answer.status).toBe(402);
  const { error } = (await answer.json()) as { error: { provider_specific_fields: Record<string, number> } };
  const spend = await account.findSpend();
  expect(toNano(error.provider_specific_fields.remaining_usd ?? 0)).toBe(900_000n - spend);
  expect((await chat(account, 'tokens=100', { max_tokens: 100 })).status).toBe(200);
  const key = await keyOf(account);
  expect(key).toMatchObject({ max_budget_usd: null, remaining_budget_usd: null });
  expect(Object.keys(key)).toHaveLength(9);
  expect((await account.get('/svc/credit')).body).toMatchObject({ scope: 'key_budget', month_spend_usd: null });
});

row('key.no-budget', async () => {
  expect(await keyOf(await makeAccount(stack))).toMatchObject({ max_budget_usd: null, remaining_budget_usd: null });
});

row('key.rate-limit', async () => {
  const account = await makeAccount(stack, { rpm: 77, tpm: 7_700 });
  const { headers } = await chat(account);
  expect(headers.get('x-ratelimit-limit-requests')).toBe('77');
  expect(headers.get('x-ratelimit-limit-tokens')).toBe('7700');
  expect(await keyOf(account)).toMatchObject({ rate_limit: { rpm: 77, tpm: 7_700 } });
});

row('key.defaults', async () => {
  expect(await keyOf(await makeAccount(stack))).toMatchObject({ rate_limit: { rpm: 600, tpm: 1_000_000 } });
});

row('key.expiry', async () => {
  expect(await keyOf(await makeAccount(stack))).toMatchObject({ expires_at: null });
  const { expires_at: expiresAt } = await keyOf(await makeAccount(stack, { expiresAt: '2099-01-31T00:00:00Z' }));
  expect(Date.parse(String(expiresAt))).toBe(Date.parse('2099-01-31T00:00:00Z'));
});

row('key.own-alone', async () => {
  const account = await makeAccount(stack);
  const colleague = await makeAccount(stack, { workspaceId: account.workspaceId });
  await account.untilUsage((await chat(account, 'tokens=40')).headers);
  expect(await keyOf(colleague)).toMatchObject({ spend_usd: 0, key_name: `sk-...${colleague.apiKey.slice(-4)}` });
});

/** The same key by a new secret; the old one works for an hour. */
const rotated = async (apiKey: string) => {
  const newApiKey = await stack.operator.rotateKey(apiKey, 3_600);
  return { newApiKey, byOld: createClient(stack.baseUrl, apiKey), byNew: createClient(stack.baseUrl, newApiKey) };
};
const nameOf = (apiKey: string) => `sk-...${apiKey.slice(-4)}`;

row('key.two-secrets', async () => {
  const account = await makeAccount(stack);
  const first = await chat(account, 'tokens=40');
  const { newApiKey, byOld, byNew } = await rotated(account.apiKey);
  const second = await byNew.post('/chat/completions', aChat('tokens=40'));
  const callIds = [first.headers, second.headers].map((headers) => headers.get('x-router-call-id'));
  await account.untilUsage(first.headers);
  await account.untilUsage(second.headers);
  const spend_usd = Number(await account.findSpend()) / 1e9;
  expect((await byOld.get('/svc/key')).body).toMatchObject({
    key_name: nameOf(account.apiKey),
    spend_usd,
    expires_at: expect.any(String),
  });
  expect((await byNew.get('/svc/key')).body).toMatchObject({
    key_name: nameOf(newApiKey),
    spend_usd,
    expires_at: null,
  });
  for (const who of [byOld, byNew]) {
    for (const callId of callIds) expect((await who.get(`/svc/usage/request/${callId}`)).status).toBe(200);
    expect((await who.get(`/svc/usage?${daysAroundNow()}`)).body).toMatchObject({ totals: { requests: 2 } });
  }
});

row('key.two-secrets.limits', async () => {
  const limited = await makeAccount(stack, { rpm: 2 });
  const of = await rotated(limited.apiKey);
  const ask = (who: ReturnType<typeof createClient>) => who.post('/chat/completions', aChat('tokens=1'));
  expect([(await ask(of.byOld)).status, (await ask(of.byNew)).status]).toEqual([200, 200]);
  expect([(await ask(of.byOld)).status, (await ask(of.byNew)).status]).toEqual([429, 429]);

  const budgeted = await makeAccount(stack, { maxBudgetUsd: '0.0009' });
  const { headers } = await chat(budgeted, 'tokens=100', { max_tokens: 100 });
  await budgeted.untilUsage(headers);
  const { byOld, byNew } = await rotated(budgeted.apiKey);
  const [old, renewed] = [(await byOld.get('/svc/key')).body, (await byNew.get('/svc/key')).body];
  const { remaining_budget_usd: remaining } = old as { remaining_budget_usd: number };
  expect(remaining).toBeLessThan(0.0009);
  expect(renewed).toMatchObject({ max_budget_usd: 0.0009, remaining_budget_usd: remaining });
});

row('key.old-secret-ends', async () => {
  const account = await makeAccount(stack);
  const { newApiKey, byOld, byNew } = await rotated(account.apiKey);
  const paths = ['/svc/key', '/svc/usage', '/models'];
  const ask = (who: ReturnType<typeof createClient>) => who.post('/chat/completions', aChat('tokens=1'));
  const look = (who: ReturnType<typeof createClient>) =>
    Promise.all(paths.map(async (path) => (await who.get(path)).status));
  // The cached key must not be accepted.
  expect([(await ask(byOld)).status, ...(await look(byOld))]).toEqual([200, 200, 200, 200]);
  await stack.operator.endOldSecret(newApiKey);
  expect((await ask(byOld)).status).toBe(401);
  await until('look-ups to know', async () =>
    (await look(byOld)).every((status) => status === 401) ? true : undefined,
  );
  expect([(await ask(byNew)).status, ...(await look(byNew))]).toEqual([200, 200, 200, 200]);
});

/** A key that can pay for nothing. */
const aPoorAccount = async () => makeAccount(stack, { workspaceId: await stack.operator.makeWorkspace() });

row('key.no-credit', async () => {
  const account = await aPoorAccount();
  expect((await chat(account)).status).toBe(402);
  expect(await keyOf(account)).toMatchObject({ object: 'key', spend_usd: 0 });
});

row('credit.workspace', async () => {
  const workspaceId = await stack.operator.makeWorkspace({ creditUsd: '10' });
  const account = await makeAccount(stack, { workspaceId });
  const colleague = await makeAccount(stack, { workspaceId });
  await account.untilUsage((await chat(account, 'tokens=40')).headers);
  const spent = await account.findSpend();
  for (const who of [account, colleague]) {
    expect((await who.get('/svc/credit')).body).toEqual({
      object: 'credit',
      currency: 'USD',
      scope: 'workspace',
      credit_usd: Number(10_000_000_000n - spent) / 1e9,
      held_usd: 0,
      month_spend_usd: Number(spent) / 1e9,
      monthly_cap_usd: null,
      generated_at: expect.any(String),
    });
  }
});

row('credit.budget', async () => {
  const account = await makeAccount(stack, { maxBudgetUsd: '2.5' });
  await account.untilUsage((await chat(account, 'tokens=40')).headers);
  expect((await account.get('/svc/credit')).body).toEqual({
    object: 'credit',
    currency: 'USD',
    scope: 'key_budget',
    credit_usd: Number(2_500_000_000n - (await account.findSpend())) / 1e9,
    held_usd: 0,
    month_spend_usd: null,
    monthly_cap_usd: null,
    generated_at: expect.any(String),
  });
});

row('credit.none', async () => {
  const { status, body } = await (await aPoorAccount()).get('/svc/credit');
  expect({ status, body }).toMatchObject({ status: 200, body: { scope: 'workspace', credit_usd: 0, held_usd: 0 } });
});

row('usage.record', async () => {
  const account = await makeAccount(stack);
  const record = await account.untilUsage((await chat(account, 'tokens=9')).headers);
  const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
  expect(record).toEqual({
    object: 'usage.request',
    currency: 'USD',
    request_id: expect.any(String),
    model: expect.any(String),
    canonical_model: MODEL,
    status: 'success',
    prompt_tokens: expect.any(Number),
    completion_tokens: 9,
    total_tokens: record.prompt_tokens + 9,
    total_spend: expect.any(Number),
    modality: 'text',
    units_consumed: null,
    billing_unit: 'token',
    started_at: instant,
    ended_at: instant,
    generated_at: instant,
  });
});

row('usage.request_id', async () => {
  const account = await makeAccount(stack);
  const { headers } = await chat(account);
  const callId = headers.get('x-router-call-id');
  expect(callId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(await account.untilUsage(headers)).toMatchObject({ request_id: callId });
});

row('usage.models', async () => {
  const account = await makeAccount(stack);
  const response = await chat(account, 'tokens=1', { model: ALIAS });
  const { model, usage } = (await response.json()) as { model: string; usage: SeenUsage };
  expect(model).toBe(MODEL);
  await expectBilled(account, { headers: response.headers, model: MODEL, usage });
  const record = await account.untilUsage(response.headers);
  expect(record.canonical_model).toBe(MODEL);
  expect(record.model).toMatch(new RegExp(`^engine-[12]/${MODEL}$`));
});

row('usage.times', async () => {
  const account = await makeAccount(stack);
  const record = (await account.untilUsage((await chat(account)).headers)) as unknown as Record<string, string>;
  const times = [record.started_at, record.ended_at, record.generated_at].map((text) => Date.parse(text ?? ''));
  expect(times).toEqual(times.toSorted((a, b) => a - b));
});

row('usage.visible', async () => {
  const account = await makeAccount(stack);
  // The promise is of a healthy stack, so one that is short of processor time gets another try.
  const measured = await until('a row within two seconds', async () => {
    const response = await chat(account);
    await response.text();
    const endedAt = performance.now();
    await account.untilUsage(response.headers);
    const tookMs = performance.now() - endedAt;
    return tookMs < 2_000 ? tookMs : undefined;
  });
  expect(measured).toBeLessThan(2_000);
});

row('usage.unknown-id', async () => {
  const account = await makeAccount(stack);
  const other = await makeAccount(stack);
  const { headers } = await chat(other);
  await other.untilUsage(headers);
  const client = createClient(stack.baseUrl, account.apiKey);
  const ids = ['01890000-0000-7000-8000-000000000000', headers.get('x-router-call-id'), 'no-id', '1'];
  const answers = await Promise.all(ids.map((id) => client.get(`/svc/usage/request/${id}`)));
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
  expect(answers[0]?.body).toEqual(flat('usage_not_found'));
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
});

row('usage.survives-credit', async () => {
  const account = await makeAccount(stack, { maxBudgetUsd: '0.0001' });
  const { headers } = await chat(account, 'tokens=2', { max_tokens: 2 });
  expect((await chat(account, 'tokens=2', { max_tokens: 2_000 })).status).toBe(402);
  expect(await account.untilUsage(headers)).toMatchObject({ status: 'success' });
});

const askAccountLayer = (path: string) => fetch(stack.running.stack.services['control-plane'].url + path);
row('control-plane.health', async () => {
  const answer = await askAccountLayer('/account/health');
  expect([answer.status, await answer.json()]).toEqual([200, { status: 'ok' }]);
});
row('control-plane.unlisted', async () => {
  for (const path of [
    '/index.html',
    '/assets/none.js',
    '/account',
    '/account/health/',
    '/health',
    '/metrics',
    '/v1/models',
  ]) {
    const answer = await askAccountLayer(path);
    expect([path, answer.status]).toEqual([path, 404]);
    expect(await answer.json()).toEqual({ error: 'not_found', message: expect.any(String) });
  }
});

async function anOrganization() {
  const user = await AccountUser.signIn(stack.running.stack);
  const path = `/account/organizations/${await user.makeOrganization()}/workspaces`;
  const send = async (method: string, tail: string, body?: object) => {
    const answer = await user.send(method, path + tail, body);
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  return { send, workspaces: async () => (await send('GET', '')).body.workspaces };
}
row('account.one-workspace', async () => {
  const { send, workspaces } = await anOrganization();
  const first = await send('POST', '', { region: 'us', name: 'First' });
  expect(first.status).toBe(201);
  expect(await send('POST', '', { region: 'us', name: 'Second' })).toMatchObject({
    status: 409,
    body: { error: 'workspace_exists' },
  });
  expect(await workspaces()).toEqual([expect.objectContaining({ workspace_id: first.body.workspace_id })]);
});
row('account.region-permanent', async () => {
  const { send, workspaces } = await anOrganization();
  const { body } = await send('POST', '', { region: 'us', name: 'Here' });
  for (const change of [{ region: 'eu' }, { region: 'eu', name: 'There' }]) {
    expect((await send('PATCH', `/${body.workspace_id}`, change)).status).toBe(400);
  }
  expect(await workspaces()).toEqual([expect.objectContaining({ region: 'us', name: 'Here' })]);
});
row('account.legacy-host', async () => {
  const { apiKey, baseUrl, running } = stack;
  const headers = { authorization: `Bearer ${apiKey}` };
  const [legacy, own] = await Promise.all(
    [running.stack.legacy_base_url, baseUrl].map(async (url) => (await fetch(`${url}/svc/key`, { headers })).json()),
  );
  expect(own).toMatchObject({ key_name: expect.stringContaining(apiKey.slice(-4)) });
  expect(legacy).toEqual({ ...(own as object), generated_at: expect.any(String) });
});
