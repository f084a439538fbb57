import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { generateApiKey, toKeySha256 } from '@turnpike/api-keys/apiKey';
import type { KeyRecordBody } from '@turnpike/internal-api/keyRecord';
import { aKeyRecordBody } from '@turnpike/internal-api/keyRecord';
import { ApiError } from '@turnpike/public-api/apiError';
import { createAuthenticator } from './createAuthenticator.ts';

/** The auth service's answers in these tests, by SHA-256 of the key, and the way in which it fails. */
let verdicts: Map<string, KeyRecordBody>;
let failure: 'none' | 'status' | 'nonsense' | 'silence' | 'slowness';
let lookUps: number;
/** Answers that wait to be given. */
let held: (() => void)[];
let mostHeld: number;
let authUrl: string;
const server = createServer((req, res) => {
  let body = '';
  req.on('data', (chunk) => {
    body += chunk;
  });
  req.on('end', () => {
    lookUps += 1;
    if (failure === 'silence') return;
    if (failure === 'status') res.statusCode = 503;
    const { key_sha256: keySha256 } = JSON.parse(body);
    const answer = () =>
      void res.end(failure === 'nonsense' ? '{"key":{}}' : JSON.stringify({ key: verdicts.get(keySha256) ?? null }));
    if (failure !== 'slowness') return answer();
    held.push(answer);
    mostHeld = Math.max(mostHeld, held.length);
  });
});

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  authUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  verdicts = new Map();
  failure = 'none';
  lookUps = 0;
  held = [];
  mostHeld = 0;
});

/** One that waits long for an auth that answers: a busy machine may take its time. */
const anAuthenticator = (timeoutMs = 60_000, questionsAtOnce?: number) =>
  createAuthenticator({
    authUrl,
    region: 'us',
    internalHeaders: () => ({}),
    cacheTtlMs: 300_000,
    timeoutMs,
    ...(questionsAtOnce !== undefined && { questionsAtOnce }),
  });

function aKey(fields: Parameters<typeof aKeyRecordBody>[0] = {}): string {
  const apiKey = generateApiKey();
  const own = { keyId: `key_${verdicts.size}`, lastFour: apiKey.slice(-4) };
  verdicts.set(toKeySha256(apiKey), aKeyRecordBody({ ...own, ...fields }));
  return `Bearer ${apiKey}`;
}

async function faultOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return error instanceof ApiError ? error.fault.kind : `not refused: ${String(error)}`;
}

it('asks auth once for many calls at once, and not again for a while', async () => {
  const { authenticate } = anAuthenticator();
  const key = aKey();
  const records = await Promise.all(Array.from({ length: 50 }, () => authenticate(key)));
  expect(new Set(records.map(({ keyId }) => keyId)).size).toBe(1);
  await authenticate(key);
  expect(lookUps).toBe(1);
});

it.each(['bearer', 'BEARER', 'beaReR'])('reads the scheme in any case: %s', async (scheme) => {
  const key = aKey();
  expect((await anAuthenticator().authenticate(key.replace('Bearer', scheme))).keyId).toBe('key_0');
});

it('asks auth no more at once than it was told to, and answers all in the end', async () => {
  failure = 'slowness';
  const { authenticate } = anAuthenticator(60_000, 3);
  const asked = Array.from({ length: 12 }, () => authenticate(aKey()));
  for (let given = 0; given < asked.length; given += 1) {
    while (held.length === 0) await delay(5);
    held.shift()?.();
  }
  await Promise.all(asked);
  expect(mostHeld).toBeLessThanOrEqual(3);
  expect(lookUps).toBe(12);
});

it('asks again once it was told to forget a key', async () => {
  const authenticator = anAuthenticator();
  const key = aKey();
  const { keyId } = await authenticator.authenticate(key);
  authenticator.forget(keyId);
  await authenticator.authenticate(key);
  expect(lookUps).toBe(2);
});

it.each([
  ['missing', undefined, 'missing_authorization'],
  ['empty', '', 'missing_authorization'],
  ['of another scheme', 'Basic abc', 'malformed_authorization'],
  ['of a scheme that begins alike', 'Bearers sk-abc', 'malformed_authorization'],
  ['two keys', 'Bearer sk-a, Bearer sk-b', 'malformed_authorization'],
  ['mistyped', 'Bearer sk-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'invalid_api_key'],
])('refuses a header that is %s without asking anybody', async (_case, header, fault) => {
  expect(await faultOf(anAuthenticator().authenticate(header))).toBe(fault);
  expect(lookUps).toBe(0);
});

it.each([
  ['unknown', () => `Bearer ${generateApiKey()}`, 'invalid_api_key'],
  ['expired', () => aKey({ expiresAt: '2020-01-01T00:00:00Z' }), 'invalid_api_key'],
  ['blocked', () => aKey({ isBlocked: true }), 'key_blocked'],
  ['of a workspace of the other region', () => aKey({ workspace: { region: 'eu' } }), 'region_not_served'],
])('refuses a key that is %s', async (_case, makeKey, fault) => {
  const { authenticate } = anAuthenticator();
  const key = makeKey();
  expect(await faultOf(authenticate(key))).toBe(fault);
  expect(await faultOf(authenticate(key))).toBe(fault);
  expect(lookUps).toBe(1);
});

it.each(['status', 'nonsense', 'silence'] as const)('lets nobody pass when auth gives no verdict: %s', async (how) => {
  failure = how;
  const { authenticate } = anAuthenticator(3_000);
  const key = aKey();
  expect(await faultOf(authenticate(key))).toBe('auth_unavailable');
  failure = 'none';
  expect((await authenticate(key)).keyId).toBe('key_0');
});
