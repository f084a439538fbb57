import { ALPHABET, PREFIX, RANDOM_LENGTH, toChecksum } from '@turnpike/api-keys/format';

/** A new API key. The secret stays in the browser; the other two register it. */
export interface NewApiKey {
  secret: string;
  key_sha256: string;
  last_four: string;
}

/** Bytes from here on would make the first characters of the alphabet more frequent. */
const EVEN_BYTES = 256 - (256 % ALPHABET.length);

/** Makes an API key by the browser's source of randomness. Throws if the page is neither https nor of `localhost`. */
export async function makeApiKey(): Promise<NewApiKey> {
  let random = '';
  while (random.length < RANDOM_LENGTH) {
    const [byte = EVEN_BYTES] = crypto.getRandomValues(new Uint8Array(1));
    if (byte < EVEN_BYTES) random += ALPHABET[byte % ALPHABET.length];
  }
  const secret = PREFIX + random + toChecksum(computeCrc32(random));
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(secret));
  const hex = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0'));
  return { secret, key_sha256: hex.join(''), last_four: secret.slice(-4) };
}

/** CRC-32 of ASCII, as zlib computes it. */
function computeCrc32(text: string): number {
  let crc = -1;
  for (const byte of new TextEncoder().encode(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
