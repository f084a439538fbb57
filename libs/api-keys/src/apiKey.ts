import { createHmac, hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { ALPHABET, CHECKSUM_LENGTH, PREFIX, RANDOM_LENGTH, toChecksum } from './format.ts';

const KEY_PATTERN = /^sk-[0-9A-Za-z]{40,128}$/;

/** A new API key: `sk-`, 44 random base62 characters and a 6-character checksum. Shown once, never stored. */
export function generateApiKey(): string {
  let random = '';
  for (let i = 0; i < RANDOM_LENGTH; i += 1) random += ALPHABET[randomInt(ALPHABET.length)];
  return PREFIX + random + toChecksum(crc32(random));
}

/** Whether a text is a key that could have been issued: right prefix, alphabet, length and checksum. No look-up. */
export function isWellFormedApiKey(text: string): boolean {
  if (!KEY_PATTERN.test(text)) return false;
  const body = text.slice(PREFIX.length, -CHECKSUM_LENGTH);
  return toChecksum(crc32(body)) === text.slice(-CHECKSUM_LENGTH);
}

/** SHA-256 of the key, hex: what travels between services in the key's stead. */
export function toKeySha256(apiKey: string): string {
  return hash('sha256', apiKey);
}

/**
 * The stored form of a key: HMAC-SHA-256, under the pepper, of the key's SHA-256. So a key can be registered by its
 * SHA-256 alone.
 */
export function toStoredKeyHash(keySha256: string, pepper: string): string {
  return createHmac('sha256', pepper).update(keySha256, 'hex').digest('hex');
}

/** The only form of a key ever displayed again: `sk-...wxyz`. */
export function toMaskedKey(lastFour: string): string {
  return `${PREFIX}...${lastFour}`;
}
