import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { generateApiKey, isWellFormedApiKey, toKeySha256, toMaskedKey, toStoredKeyHash } from './apiKey.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

it('is sk- and at least 40 base62 characters, new each time, and well-formed', () => {
  const keys = Array.from({ length: 100 }, generateApiKey);
  expect(new Set(keys).size).toBe(100);
  for (const key of keys) {
    expect(key).toMatch(/^sk-[0-9A-Za-z]{40,}$/);
    expect(isWellFormedApiKey(key)).toBe(true);
  }
});

it('is refused without a look-up when one character is mistyped, or two neighbours are swapped', () => {
  const key = generateApiKey();
  fc.assert(
    fc.property(fc.integer({ min: 3, max: key.length - 1 }), fc.constantFrom(...BASE62), (position, character) => {
      fc.pre(key[position] !== character);
      expect(isWellFormedApiKey(key.slice(0, position) + character + key.slice(position + 1))).toBe(false);
    }),
    { numRuns: 1_000 },
  );
  for (let position = 3; position < key.length - 1; position += 1) {
    const swapped = key.slice(0, position) + key[position + 1] + key[position] + key.slice(position + 2);
    if (swapped !== key) expect(isWellFormedApiKey(swapped)).toBe(false);
  }
});

it.each([
  '',
  'sk-',
  'sk-short',
  `pk-${'a'.repeat(50)}`,
  `sk-${'a'.repeat(49)} `,
  `sk-${'é'.repeat(50)}`,
  `sk-${'a'.repeat(200)}`,
])('is not "%s"', (text) => expect(isWellFormedApiKey(text)).toBe(false));

it('is stored as a keyed hash of its SHA-256, so that it can be registered by its SHA-256 alone', () => {
  const sha256 = toKeySha256('sk-example');
  expect(sha256).toMatch(/^[0-9a-f]{64}$/);
  expect(toStoredKeyHash(sha256, 'one pepper')).not.toBe(toStoredKeyHash(sha256, 'another pepper'));
  expect(toStoredKeyHash(sha256, 'one pepper')).not.toContain(sha256);
  expect(toMaskedKey('wxyz')).toBe('sk-...wxyz');
});
