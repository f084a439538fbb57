import { expect, it } from '@jest/globals';
import { isWellFormedApiKey, toKeySha256 } from '@turnpike/api-keys/apiKey';
import * as z from 'zod/mini';
import { makeApiKey } from '../src/apiKey.ts';
import { formatUsd, usdField } from '../src/usd.ts';

it('makes keys in the browser that the region takes for its own', async () => {
  const keys = await Promise.all(Array.from({ length: 200 }, makeApiKey));
  for (const { secret, key_sha256: sha256, last_four: lastFour } of keys) {
    expect(isWellFormedApiKey(secret)).toBe(true);
    expect(secret).toHaveLength(53);
    expect([sha256, lastFour]).toEqual([toKeySha256(secret), secret.slice(-4)]);
  }
  expect(new Set(keys.map(({ secret }) => secret)).size).toBe(200);
  // Each of 62 characters comes up 142 times on average, so a bias of a few bytes would show.
  const counts = new Map<string, number>();
  for (const character of keys.map(({ secret }) => secret.slice(3, 47)).join(''))
    counts.set(character, (counts.get(character) ?? 0) + 1);
  expect(counts.size).toBe(62);
  expect(Math.max(...counts.values())).toBeLessThan(142 + 80);
});

it.each([
  ['25', '25000000000'],
  [' 0.5 ', '500000000'],
  ['0.000000001', '1'],
  ['', null],
])('reads %j dollars as %s nano-dollars', (text, nano) => {
  expect(z.parse(usdField, text)).toBe(nano);
});

it.each(['-1', '1,5', '1e3', '0.0000000001', 'much', '$5'])('refuses %j as an amount', (text) => {
  expect(z.safeParse(usdField, text).success).toBe(false);
});

it.each([
  [0n, '$0.00'],
  [12_500_000_000n, '$12.50'],
  [1_234_567_890_000_000n, '$1,234,567.89'],
  [4_200n, '$0.000004'],
  [-500_000_000n, '−$0.50'],
])('shows %s nano-dollars as %s', (nano, text) => expect(formatUsd(nano)).toBe(text));
