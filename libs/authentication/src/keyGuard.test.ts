import { expect, it } from '@jest/globals';
import { generateApiKey, toKeySha256 } from '@turnpike/api-keys/apiKey';
import { aKeyRecordBody, type KeyRecord, keyRecordSchema } from '@turnpike/internal-api/keyRecord';
import { aFleet } from '@turnpike/internal-auth/aFleet';
import { CLIENT_ADDRESS_HEADER, signClientAddress } from '@turnpike/internal-auth/clientAddress';
import { ApiError } from '@turnpike/public-api/apiError';
import type { Request } from 'express';
import { createCachingAuthenticator } from './createCachingAuthenticator.ts';
import { createKeyGuard } from './keyGuard.ts';

const BURST = 100;
const fleet = aFleet();
const tokenKeys = fleet.publicKeys;

/** A guard whose clock stands still, the keys it knows, and how often it asked about any. */
function aGuard({ cacheTtlMs = 300_000 } = {}) {
  const records = new Map<string, KeyRecord>();
  const asked: string[] = [];
  const authenticator = createCachingAuthenticator({
    region: 'us',
    cacheTtlMs,
    async findKey(keySha256) {
      asked.push(keySha256);
      return records.get(keySha256);
    },
  });
  const guard = createKeyGuard({ authenticator, tokenKeys, now: () => 0 });
  function issueKey(): string {
    const apiKey = generateApiKey();
    const record = keyRecordSchema.parse(aKeyRecordBody({ keyId: `key_${records.size}`, lastFour: apiKey.slice(-4) }));
    records.set(toKeySha256(apiKey), record);
    return apiKey;
  }
  /** Returns the result of a call: `let in`, or the kind of the fault. */
  async function call(apiKey: string, address = '203.0.113.1'): Promise<string> {
    const headers = {
      authorization: `Bearer ${apiKey}`,
      [CLIENT_ADDRESS_HEADER]: signClientAddress(address, { key: fleet.keyOf('edge') }),
    };
    const request = { headers, socket: { remoteAddress: '127.0.0.1' } } as unknown as Request;
    let outcome = 'neither';
    try {
      await guard(request);
      outcome = 'let in';
    } catch (error) {
      outcome = error instanceof ApiError ? error.fault.kind : String(error);
    }
    return outcome;
  }
  return { asked, issueKey, call };
}

it('asks nobody about the keys of an address that tries too many wrong ones, and lets in those it knows', async () => {
  const { asked, issueKey, call } = aGuard();
  const known = issueKey();
  expect(await call(known)).toBe('let in');
  const outcomes = await Promise.all(Array.from({ length: BURST + 20 }, () => call(generateApiKey())));
  expect(outcomes.filter((outcome) => outcome === 'invalid_api_key')).toHaveLength(BURST);
  expect(outcomes.filter((outcome) => outcome === 'look_ups_exceeded')).toHaveLength(20);
  expect(asked).toHaveLength(1 + BURST);

  expect(await call(known)).toBe('let in');
  expect(await call(issueKey())).toBe('look_ups_exceeded');
  expect(await call(generateApiKey(), '203.0.113.2')).toBe('invalid_api_key');
});

it('counts no key that is one: however many an address comes with, they are let in', async () => {
  const { issueKey, call } = aGuard();
  for (let nth = 0; nth < 3 * BURST; nth += 1) expect(await call(issueKey())).toBe('let in');
  expect(await call(generateApiKey())).toBe('invalid_api_key');
});

it('asks again about a key that it knew, also where its address has tried too many wrong ones', async () => {
  const { asked, issueKey, call } = aGuard({ cacheTtlMs: 1 });
  const known = issueKey();
  expect(await call(known)).toBe('let in');
  await Promise.all(Array.from({ length: BURST }, () => call(generateApiKey())));
  expect(await call(issueKey())).toBe('look_ups_exceeded');
  while (asked.filter((hash) => hash === toKeySha256(known)).length < 2) expect(await call(known)).toBe('let in');
});
