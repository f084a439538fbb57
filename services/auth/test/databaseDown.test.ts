import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { generateApiKey, toKeySha256 } from '@turnpike/api-keys/apiKey';
import { startPostgres, type TestPostgres } from '@turnpike/test-support/startPostgres';
import { registerAKey, verify } from './builders.ts';
import { startAuth, type TestAuth } from './startAuth.ts';

let postgres: TestPostgres;
let auth: TestAuth;
beforeAll(async () => {
  postgres = await startPostgres();
  auth = await startAuth({ postgres });
});
afterAll(() => auth.stop());

it('without its database auth gives no verdict, and gives verdicts again when it is back', async () => {
  const { apiKey, keyId } = await registerAKey(auth);
  auth.answerSpend((_req, res) => res.end('{"spend_nano_usd": "0", "held_nano_usd": "0"}'));
  await postgres.crash();

  for (const key of [apiKey, generateApiKey()]) {
    const verdict = await auth.callInternal('POST', '/internal/keys/verify', { key_sha256: toKeySha256(key) });
    expect(verdict).toMatchObject({ status: 503, body: { error: { code: 'auth_service_unavailable' } } });
    expect(await auth.getPublic('/v1/svc/key', `Bearer ${key}`)).toEqual({
      status: 502,
      body: { detail: 'upstream router auth unavailable' },
    });
  }
  expect(await auth.callInternal('POST', `/internal/keys/${keyId}/revoke`)).toMatchObject({
    status: 503,
    body: { error: 'service_unavailable' },
  });
  expect(await auth.callInternal('GET', '/ready')).toEqual({
    status: 503,
    body: { status: 'not ready', missing: ['postgres'], since: expect.any(String) },
  });
  expect((await auth.callInternal('GET', '/health')).status).toBe(200);

  await postgres.restart();
  expect((await verify(auth, apiKey)).key).toMatchObject({ keyId });
  expect((await auth.getPublic('/v1/svc/key', `Bearer ${apiKey}`)).status).toBe(200);
  expect((await auth.callInternal('GET', '/ready')).status).toBe(200);
});
