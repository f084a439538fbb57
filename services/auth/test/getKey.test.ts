import type { RequestListener } from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { generateApiKey } from '@turnpike/api-keys/apiKey';
import { createTokenVerifier, INTERNAL_TOKEN_HEADER } from '@turnpike/internal-auth/internalToken';
import { registerAKey } from './builders.ts';
import { fleet, startAuth, type TestAuth } from './startAuth.ts';

let auth: TestAuth;
beforeAll(async () => {
  auth = await startAuth();
});
afterAll(() => auth.stop());

const spends =
  (spendNanoUsd: string): RequestListener =>
  (_req, res) =>
    res.end(JSON.stringify({ spend_nano_usd: spendNanoUsd, held_nano_usd: '0' }));
const keyInformation = (apiKey: string) => auth.getPublic('/v1/svc/key', `Bearer ${apiKey}`);

it('answers exactly the documented fields of a key, with live spend', async () => {
  const { apiKey, keyId, workspaceId } = await registerAKey(auth, {
    max_budget_nano_usd: '25000000000',
    expires_at: '2999-01-01T00:00:00Z',
    rpm: 60,
    tpm: 90_000,
  });
  let [asked, token]: unknown[] = [];
  auth.answerSpend((req, res) => {
    token = req.headers[INTERNAL_TOKEN_HEADER];
    asked = req.url;
    spends('1234567891')(req, res);
  });

  const { status, body } = await keyInformation(apiKey);

  expect(status).toBe(200);
  expect(body).toEqual({
    object: 'key',
    currency: 'USD',
    key_name: `sk-...${apiKey.slice(-4)}`,
    spend_usd: 1.234567891,
    max_budget_usd: 25,
    remaining_budget_usd: 23.765432109,
    rate_limit: { rpm: 60, tpm: 90_000 },
    expires_at: '2999-01-01T00:00:00.000Z',
    generated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
  });
  expect(asked).toBe(`/internal/workspaces/${workspaceId}/keys/${keyId}/spend`);
  const verify = createTokenVerifier({ audience: 'us/model-router', keys: fleet.publicKeys });
  const route = 'GET /internal/workspaces/:workspace_id/keys/:key_id/spend';
  expect(await verify(token, route)).toMatchObject({ service: 'auth' });
  expect(JSON.stringify(body)).not.toContain(apiKey.slice(3, 20));
});

it('still answers when the key has overspent, with nothing remaining', async () => {
  const { apiKey } = await registerAKey(auth, { max_budget_nano_usd: '1000000000' });
  auth.answerSpend(spends('1000000001'));
  const { status, body } = await keyInformation(apiKey);
  expect({ status, ...body }).toMatchObject({ status: 200, spend_usd: 1.000000001, remaining_budget_usd: 0 });
});

it('has no parameters', async () => {
  const { apiKey } = await registerAKey(auth);
  auth.answerSpend(spends('0'));
  const { status, body } = await auth.getPublic(`/v1/svc/key?key=${generateApiKey()}`, `Bearer ${apiKey}`);
  expect({ status, name: body.key_name }).toEqual({ status: 200, name: `sk-...${apiKey.slice(-4)}` });
});

it('reads the scheme in any case', async () => {
  const { apiKey } = await registerAKey(auth);
  auth.answerSpend(spends('0'));
  expect((await auth.getPublic('/v1/svc/key', `bearer ${apiKey}`)).status).toBe(200);
});

it('a key without a ceiling has none and nothing that remains of it', async () => {
  const { apiKey } = await registerAKey(auth);
  auth.answerSpend(spends('0'));
  const { body } = await keyInformation(apiKey);
  expect(body).toMatchObject({ spend_usd: 0, max_budget_usd: null, remaining_budget_usd: null, expires_at: null });
});

it.each([
  ['missing_authorization', undefined],
  ['malformed_authorization', 'Basic abc'],
  ['malformed_authorization', 'Bearer'],
  ['malformed_authorization', 'Basic sk-abc'],
  ['malformed_authorization', `Bearer ${'x'.repeat(10_000)}`],
])('without a readable credential: a flat 401 %s', async (error, authorization) => {
  expect(await auth.getPublic('/v1/svc/key', authorization)).toEqual({
    status: 401,
    body: { error, message: expect.any(String), doc_url: 'https://dashboard.example/keys' },
  });
});

it.each([
  ['mistyped', 'invalid_api_key', async () => `${generateApiKey().slice(0, -1)}!`],
  ['unknown', 'invalid_api_key', async () => generateApiKey()],
  ['a condition', 'invalid_api_key', async () => "'OR'1'='1"],
  ['expired', 'invalid_api_key', async () => (await registerAKey(auth, { expires_at: '2020-01-01T00:00:00Z' })).apiKey],
  ['revoked', 'invalid_api_key', async () => changed('revoke')],
  ['blocked', 'key_blocked', async () => changed('block')],
  [
    'of a workspace of another region',
    'region_not_served',
    async () => {
      const { apiKey, workspaceId } = await registerAKey(auth);
      await auth.db.workspace.update({ where: { workspaceId }, data: { region: 'eu' } });
      return apiKey;
    },
  ],
])('a key that is %s: one 401 envelope, and the router is not asked', async (_case, code, aKey) => {
  const apiKey = await aKey();
  let asked = 0;
  auth.answerSpend((req, res) => {
    asked += 1;
    spends('0')(req, res);
  });
  const { status, body } = await keyInformation(apiKey);
  expect({ status, body, asked }).toEqual({
    status: 401,
    body: {
      error: {
        message: expect.any(String),
        type: 'authentication_error',
        param: null,
        code,
        doc_url: 'https://dashboard.example/keys',
      },
    },
    asked: 0,
  });
});

async function changed(change: string): Promise<string> {
  const { apiKey, keyId } = await registerAKey(auth);
  await auth.callInternal('POST', `/internal/keys/${keyId}/${change}`);
  return apiKey;
}

const answering =
  (status: number, text: string): RequestListener =>
  (_req, res) =>
    res.writeHead(status).end(text);

it.each([
  ['cuts the connection', (req) => req.socket.destroy(), 'upstream router unavailable'],
  ['is down behind', answering(503, '{}'), 'upstream router unavailable'],
  ['refuses our credentials', answering(401, '{}'), 'upstream router auth unavailable'],
  ['answers no JSON', answering(200, '<html>'), 'upstream router malformed response'],
  ['answers another shape', answering(200, '{"spend_nano_usd": 5}'), 'upstream router malformed response'],
  ['knows no such route', answering(404, '{}'), 'upstream router malformed response'],
  ['answers without end', answering(200, ' '.repeat(1_000_000)), 'upstream router unavailable'],
] satisfies [string, RequestListener, string][])('a router that %s: a bare 502', async (_case, listener, detail) => {
  const { apiKey } = await registerAKey(auth);
  auth.answerSpend(listener);
  expect(await keyInformation(apiKey)).toEqual({ status: 502, body: { detail } });
});

it('a router that does not answer in time: a bare 502', async () => {
  const hasty = await startAuth({ routerTimeoutMs: 500 });
  const { apiKey } = await registerAKey(hasty);
  hasty.answerSpend(() => {});
  const answer = await hasty.getPublic('/v1/svc/key', `Bearer ${apiKey}`);
  await hasty.stop();
  expect(answer).toEqual({ status: 502, body: { detail: 'upstream router unavailable' } });
});

it('GET /v1/svc/credit shows the balance of the workspace, also below zero, and asks for that alone', async () => {
  const { apiKey, workspaceId } = await registerAKey(auth);
  let asked: string | undefined;
  auth.answerSpend((req, res) => {
    asked = req.url;
    res.end('{"credit_nano_usd":"-1500000000","held_nano_usd":"7","month_spend_nano_usd":"2000000001"}');
  });
  expect(await auth.getPublic('/v1/svc/credit', `Bearer ${apiKey}`)).toEqual({
    status: 200,
    body: {
      object: 'credit',
      currency: 'USD',
      scope: 'workspace',
      credit_usd: -1.5,
      held_usd: 0.000000007,
      month_spend_usd: 2.000000001,
      monthly_cap_usd: null,
      generated_at: expect.any(String),
    },
  });
  expect(asked).toBe(`/internal/workspaces/${workspaceId}/credit`);
});

it('GET /v1/svc/credit of a key with a budget shows that budget, and does not ask for its workspace', async () => {
  const { apiKey, keyId, workspaceId } = await registerAKey(auth, { max_budget_nano_usd: '1000000000' });
  let asked: string | undefined;
  auth.answerSpend((req, res) => {
    asked = req.url;
    spends('250000000')(req, res);
  });
  const { status, body } = await auth.getPublic('/v1/svc/credit', `Bearer ${apiKey}`);
  expect({ status, ...body }).toMatchObject({
    status: 200,
    scope: 'key_budget',
    credit_usd: 0.75,
    month_spend_usd: null,
  });
  expect(asked).toBe(`/internal/workspaces/${workspaceId}/keys/${keyId}/spend`);
});

it.each([
  ['5000000000', 0.6],
  ['800000000', 0.3],
])('GET /v1/svc/credit of a key with a budget of a period and %s in all shows the smaller rest', async (max, rest) => {
  const { apiKey } = await registerAKey(auth, {
    max_budget_nano_usd: max,
    period_budget: { period: 'day', max_nano_usd: '1000000000' },
  });
  const spend = { spend_nano_usd: '500000000', held_nano_usd: '1', period_spend_nano_usd: '400000000' };
  auth.answerSpend((_req, res) => res.end(JSON.stringify(spend)));
  const { body } = await auth.getPublic('/v1/svc/credit', `Bearer ${apiKey}`);
  expect(body).toMatchObject({ scope: 'key_budget', credit_usd: rest, month_spend_usd: null });
  const key = await auth.getPublic('/v1/svc/key', `Bearer ${apiKey}`);
  expect(key.body).toMatchObject({ max_budget_usd: Number(max) / 1e9, spend_usd: 0.5 });
  expect(Object.keys(key.body)).toHaveLength(9);
});

it.each([
  ['/v1/svc/key', 502],
  ['/v1/svc/credit', 502],
])('GET %s is %i while the router gives no usable answer', async (path, status) => {
  const { apiKey } = await registerAKey(auth);
  auth.answerSpend((_req, res) => res.end('{}'));
  expect((await auth.getPublic(path, `Bearer ${apiKey}`)).status).toBe(status);
});
