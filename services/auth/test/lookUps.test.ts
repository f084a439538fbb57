import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { generateApiKey, toKeySha256 } from '@turnpike/api-keys/apiKey';
import { CLIENT_ADDRESS_HEADER, signClientAddress } from '@turnpike/internal-auth/clientAddress';
import { createLogger } from '@turnpike/logging/createLogger';
import { startTelemetry } from '@turnpike/telemetry/startTelemetry';
import { readMetrics } from '@turnpike/test-support/readMetrics';
import { startPostgres, type TestPostgres } from '@turnpike/test-support/startPostgres';
import { until } from '@turnpike/test-support/until';
import { registerAKey, verify } from './builders.ts';
import { fleet, startAuth, type TestAuth } from './startAuth.ts';

/** More than there are connections to anything. */
const MANY = 40;
const PER_SECOND = 2;
const BURST = 2 * PER_SECOND;

let postgres: TestPostgres;
let auth: TestAuth;
beforeAll(async () => {
  postgres = await startPostgres();
  auth = await startAuth({ postgres, routerTimeoutMs: 40_000, statementTimeoutMs: 40_000 });
});
afterAll(() => auth.stop());
beforeEach(() => auth.answerSpend((_req, res) => res.end(SPEND)));

const SPEND = '{"spend_nano_usd": "0", "held_nano_usd": "0"}';
const lookUp = (apiKey: string) => auth.getPublic('/v1/svc/key', `Bearer ${apiKey}`);
const statusOf = async (apiKey: string) => (await lookUp(apiKey)).status;
const change = (keyId: string, what: string) => auth.callInternal('POST', `/internal/keys/${keyId}/${what}`);
const aKeyEach = (count: number) => Promise.all(Array.from({ length: count }, () => registerAKey(auth)));

it('tells of a change made by this process in the next look-up', async () => {
  const { apiKey, keyId } = await registerAKey(auth);
  expect(await statusOf(apiKey)).toBe(200);
  await change(keyId, 'block');
  expect(await statusOf(apiKey)).toBe(401);
  await change(keyId, 'unblock');
  expect(await statusOf(apiKey)).toBe(200);
  const rotation = { key_sha256: toKeySha256(generateApiKey()), last_four: 'abcd', grace_seconds: 0 };
  await auth.callInternal('POST', `/internal/keys/${keyId}/rotate`, rotation);
  expect(await statusOf(apiKey)).toBe(401);

  const revoked = await registerAKey(auth);
  expect(await statusOf(revoked.apiKey)).toBe(200);
  await change(revoked.keyId, 'revoke');
  expect(await statusOf(revoked.apiKey)).toBe(401);

  const late = generateApiKey();
  expect(await statusOf(late)).toBe(401);
  await registerAKey(auth, { key_sha256: toKeySha256(late), last_four: late.slice(-4) });
  expect(await statusOf(late)).toBe(200);
});

it('asks the database once for many look-ups of a key, and goes on showing its live spend', async () => {
  const { apiKey } = await registerAKey(auth);
  expect(await statusOf(apiKey)).toBe(200);
  await postgres.crash();
  try {
    for (const spend of ['1', '2']) {
      auth.answerSpend((_req, res) => res.end(`{"spend_nano_usd": "${spend}000000000", "held_nano_usd": "0"}`));
      expect(await lookUp(apiKey)).toMatchObject({ status: 200, body: { spend_usd: Number(spend) } });
    }
  } finally {
    await postgres.restart();
  }
});

describe('while look-ups take forever', () => {
  it('gives verdicts, changes keys and is ready, though the database keeps all connections of look-ups', async () => {
    const slow = await aKeyEach(MANY);
    const { apiKey, keyId } = await registerAKey(auth);
    // Reading the slow keys alone takes long, by whoever looks up by hash; nobody waits for a lock.
    const ids = slow.map((key) => `'${key.keyId}'`).join(',');
    await auth.db.$executeRawUnsafe(`
      CREATE FUNCTION is_read(id TEXT) RETURNS BOOLEAN LANGUAGE plpgsql AS $$ BEGIN
        IF id IN (${ids}) THEN PERFORM pg_sleep(600); END IF;
        RETURN TRUE;
      END $$`);
    await auth.db.$executeRaw`ALTER TABLE api_key RENAME TO stored_api_key`;
    await auth.db.$executeRaw`CREATE VIEW api_key AS SELECT * FROM stored_api_key WHERE is_read(key_id)`;
    let answered = 0;
    const lookUps = slow.map((key) => lookUp(key.apiKey).finally(() => (answered += 1)));
    await until('a look-up to sleep', async () => {
      const [row] = await auth.db.$queryRaw<
        { n: bigint }[]
      >`SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event = 'PgSleep'`;
      return row !== undefined && row.n > 0n;
    });

    expect((await verify(auth, apiKey)).key).toMatchObject({ keyId });
    expect((await change(keyId, 'block')).status).toBe(200);
    expect((await auth.callInternal('GET', '/ready')).status).toBe(200);
    expect(answered).toBe(0);

    await auth.db
      .$executeRaw`CREATE OR REPLACE FUNCTION is_read(id TEXT) RETURNS BOOLEAN LANGUAGE sql AS 'SELECT TRUE'`;
    await auth.db.$executeRaw`SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'`;
    for (const { status } of await Promise.all(lookUps)) expect([200, 502]).toContain(status);
    await auth.db.$executeRaw`DROP VIEW api_key`;
    await auth.db.$executeRaw`ALTER TABLE stored_api_key RENAME TO api_key`;
  });

  it('tells the router of a revoked key, though it answers no question for spend', async () => {
    const waiting: ServerResponse[] = [];
    auth.answerSpend((_req, res) => void waiting.push(res));
    const [keys, { keyId }] = [await aKeyEach(MANY), await registerAKey(auth)];
    const lookUps = keys.map(({ apiKey }) => lookUp(apiKey));
    await until('questions to take all connections', () => waiting.length >= 32);

    await change(keyId, 'revoke');
    expect(auth.announced.at(-1)).toContain(`/keys/${keyId}/generation`);

    auth.answerSpend((_req, res) => res.end(SPEND));
    for (const res of waiting) res.end(SPEND);
    for (const { status } of await Promise.all(lookUps)) expect(status).toBe(200);
  });
});

describe('with few look-ups a second', () => {
  const telemetry = startTelemetry({
    service: 'auth',
    scope: 'us',
    otlpEndpoint: undefined,
    traceSampleRatio: 0,
    log: createLogger({ service: 'auth', level: 'silent' }),
  });
  let strict: TestAuth;
  beforeAll(async () => {
    strict = await startAuth({ telemetry, lookUpsPerSecond: PER_SECOND, now: () => 0 });
    strict.answerSpend((_req, res) => res.end(SPEND));
  });
  afterAll(async () => {
    await strict.stop();
    await telemetry.shutdown();
  });

  async function ask(apiKey: string, headers: Record<string, string> = {}) {
    const answer = await fetch(`${strict.publicUrl}/v1/svc/key`, {
      headers: { authorization: `Bearer ${apiKey}`, ...headers },
    });
    const body: unknown = await answer.json();
    return { status: answer.status, retryAfter: answer.headers.get('retry-after'), body };
  }

  it('refuses a key’s look-ups above its burst, counts them by its id, and serves another key', async () => {
    const [flooding, other] = await Promise.all([registerAKey(strict), registerAKey(strict)]);
    let asked = 0;
    strict.answerSpend((_req, res) => {
      asked += 1;
      res.end(SPEND);
    });
    const answers = await Promise.all(Array.from({ length: BURST + 3 }, () => ask(flooding.apiKey)));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused).toEqual(
      Array(3).fill({
        status: 429,
        retryAfter: '1',
        body: { error: 'rate_limit_exceeded', message: expect.any(String), doc_url: 'https://dashboard.example/keys' },
      }),
    );
    expect(asked).toBeLessThanOrEqual(BURST);
    expect((await ask(other.apiKey)).status).toBe(200);
    const samples = await readMetrics(telemetry);
    expect(samples.get(`turnpike_key_bounds_total{bound="look_ups",key="${flooding.keyId}"}`)).toBe(3);
  });

  it('asks nobody about the keys of an address that tries too many, and goes on serving those it remembers', async () => {
    const known = await registerAKey(strict);
    const statuses: number[] = [(await ask(known.apiKey)).status];
    for (let tried = 0; tried < BURST; tried += 1) statuses.push((await ask(generateApiKey())).status);
    expect(statuses).toContain(401);
    expect(statuses.at(-1)).toBe(429);
    expect(await ask(generateApiKey())).toMatchObject({ status: 429, body: { error: 'rate_limit_exceeded' } });
    expect((await ask(known.apiKey)).status).toBe(200);

    // The edge says which address; what a client could write itself counts for nothing.
    const elsewhere = { [CLIENT_ADDRESS_HEADER]: signClientAddress('203.0.113.7', { key: fleet.keyOf('edge') }) };
    expect((await ask(generateApiKey(), elsewhere)).status).toBe(401);
    const forged = { [CLIENT_ADDRESS_HEADER]: '203.0.113.8', 'x-forwarded-for': '203.0.113.8' };
    expect((await ask(generateApiKey(), forged)).status).toBe(429);
  });
});
