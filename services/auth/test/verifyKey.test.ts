import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { generateApiKey, toKeySha256, toStoredKeyHash } from '@turnpike/api-keys/apiKey';
import { signsAsCaller } from '@turnpike/internal-api/aCaller';
import { keyRecordSchema } from '@turnpike/internal-api/keyRecord';
import { aFleet } from '@turnpike/internal-auth/aFleet';
import { findKey } from '../src/keys/findKey.ts';
import { putAWorkspace, registerAKey, verify } from './builders.ts';
import { currentPepper, fleet, formerPepper, startAuth, type TestAuth } from './startAuth.ts';

/** All but `Date`. */
const doNotFake = [
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
  'setTimeout',
  'clearTimeout',
] as const;

let auth: TestAuth;
beforeAll(async () => {
  auth = await startAuth();
});
afterAll(() => auth.stop());

it('answers with the key, its limits and its workspace', async () => {
  const { workspaceId } = await putAWorkspace(auth, { billing_status: 'on_hold', monthly_cap_nano_usd: '5000000000' });
  const { apiKey, keyId } = await registerAKey(auth, {
    workspace_id: workspaceId,
    rpm: 7,
    tpm: 70,
    max_budget_nano_usd: '9007199254740991',
    expires_at: '2999-01-01T00:00:00+01:00',
  });

  const { status, key } = await verify(auth, apiKey);
  expect(status).toBe(200);
  expect(key).toEqual({
    keyId,
    lastFour: apiKey.slice(-4),
    generation: 2,
    isBlocked: false,
    expiresAt: '2998-12-31T23:00:00.000Z',
    expiresInMs: expect.any(Number),
    rpm: 7,
    tpm: 70,
    maxBudgetNanoUsd: '9007199254740991',
    periodBudget: null,
    allowedModels: null,
    workspace: { workspaceId, region: 'us', billingStatus: 'on_hold', monthlyCapNanoUsd: '5000000000' },
  });
  expect(keyRecordSchema.parse(key).maxBudgetNanoUsd).toBe(9_007_199_254_740_991n);
});

it('gives a key that names none the default limits and neither budget nor expiry', async () => {
  const { apiKey } = await registerAKey(auth);
  const { key } = await verify(auth, apiKey);
  expect(key).toMatchObject({ rpm: 600, tpm: 1_000_000, maxBudgetNanoUsd: null, expiresAt: null });
});

it.each([
  ['gives a key with two minutes left, though the process is five minutes ahead of', 300_000, 120_000],
  ['gives no key that expired a minute ago, though the process is an hour behind', -3_600_000, -60_000],
])('%s the database', async (_what, skewMs, leftMs) => {
  const { apiKey, keyId } = await registerAKey(auth);
  await auth.db.$executeRaw`
    UPDATE api_key SET expires_at = now() + ${leftMs}::int * interval '1 ms' WHERE key_id = ${keyId}`;
  jest.useFakeTimers({ now: Date.now() + skewMs, doNotFake: [...doNotFake] });
  try {
    const key = await findKey(auth.db, { keySha256: toKeySha256(apiKey), peppers: [currentPepper] });
    expect(key?.keyId).toBe(leftMs > 0 ? keyId : undefined);
    expect(key?.expiresInMs ?? 0).toBeLessThanOrEqual(120_000);
  } finally {
    jest.useRealTimers();
  }
});

it.each([
  ['a rotation without grace', 0, undefined],
  ['its end', 3_600, 'end-old-secret'],
])(
  'gives no old secret after %s, though the process is five minutes ahead of the database',
  async (_what, grace, end) => {
    const { apiKey, keyId } = await registerAKey(auth);
    const newKey = generateApiKey();
    jest.useFakeTimers({ now: Date.now() + 300_000, doNotFake: [...doNotFake] });
    try {
      const secret = { key_sha256: toKeySha256(newKey), last_four: newKey.slice(-4), grace_seconds: grace };
      expect((await auth.callInternal('POST', `/internal/keys/${keyId}/rotate`, secret)).status).toBe(200);
      if (end) expect((await auth.callInternal('POST', `/internal/keys/${keyId}/${end}`)).status).toBe(200);
      expect((await verify(auth, newKey)).key).toMatchObject({ keyId });
      expect((await verify(auth, apiKey)).key).toBeNull();
    } finally {
      jest.useRealTimers();
    }
  },
);

it.each([
  ['unknown', async () => generateApiKey()],
  ['expired', async () => (await registerAKey(auth, { expires_at: '2020-01-01T00:00:00Z' })).apiKey],
  [
    'revoked',
    async () => {
      const { apiKey, keyId } = await registerAKey(auth);
      await auth.callInternal('POST', `/internal/keys/${keyId}/revoke`);
      return apiKey;
    },
  ],
])('says of an %s key only that it is none', async (_case, aKey) => {
  expect(await verify(auth, await aKey())).toEqual({ status: 200, key: null });
});

it('says that a key is blocked', async () => {
  const { apiKey, keyId } = await registerAKey(auth);
  await auth.callInternal('POST', `/internal/keys/${keyId}/block`);
  expect((await verify(auth, apiKey)).key).toMatchObject({ keyId, isBlocked: true });
});

it('finds a key stored under a pepper that is being rotated out', async () => {
  const { apiKey, keyId } = await registerAKey(auth);
  const storedHash = toStoredKeyHash(toKeySha256(apiKey), formerPepper.secret);
  await auth.db.apiKey.update({ where: { keyId }, data: { storedHash, pepperId: formerPepper.id } });
  expect((await verify(auth, apiKey)).key).toMatchObject({ keyId });
});

it('stores a key as a hash under the current pepper, and nothing it could be made from', async () => {
  const { apiKey, keyId } = await registerAKey(auth);
  const stored = await auth.db.apiKey.findUniqueOrThrow({ where: { keyId } });
  expect(stored).toMatchObject({ pepperId: currentPepper.id, lastFour: apiKey.slice(-4) });
  const text = JSON.stringify(stored, (_name, value) => (typeof value === 'bigint' ? String(value) : value));
  expect(text).not.toContain(apiKey.slice(3, -4));
  expect(text).not.toContain(toKeySha256(apiKey));
});

it.each([
  ['another type', { key_sha256: { startsWith: '' } }],
  ['a number', { key_sha256: 0 }],
  ['a condition', { key_sha256: "' OR '1'='1" }],
  ['upper case', { key_sha256: 'A'.repeat(64) }],
  ['nothing', {}],
])('refuses a look-up by %s with 400 and its param', async (_case, body) => {
  const answer = await auth.callInternal('POST', '/internal/keys/verify', body);
  expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request', param: 'key_sha256' } });
});

it('refuses a look-up that is not JSON, without repeating it', async () => {
  const answer = await auth.callInternal('POST', '/internal/keys/verify', '{"key_sha256": "sk-secret');
  expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request', param: 'body' } });
  expect(JSON.stringify(answer)).not.toContain('sk-secret');
});

it.each([
  ['no token', undefined, ''],
  ['a token for another service', fleet, 'catalog'],
  ['a token of another stack', aFleet(), 'auth'],
])('serves no internal route to a caller with %s', async (_case, signers, service) => {
  for (const [method, path] of [
    ['POST', '/internal/keys/verify'],
    ['POST', '/internal/keys'],
    ['PUT', '/internal/workspaces/ws_1'],
    ['POST', '/internal/keys/key_1/revoke'],
    ['POST', '/internal/keys/key_1/block'],
    ['POST', '/internal/keys/key_1/unblock'],
  ] as const) {
    const headers = signers ? await signsAsCaller(signers)(service, `${method} ${path}`) : {};
    const answer = await auth.callInternal(method, path, {}, headers);
    expect(answer).toMatchObject({ status: 401, body: { error: 'invalid_internal_token' } });
  }
});

it('serves no internal route on the public listener', async () => {
  expect((await auth.getPublic('/internal/keys/verify')).status).toBe(404);
  expect((await auth.getPublic('/ready')).status).toBe(404);
});
