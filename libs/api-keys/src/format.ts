/** The format of API keys, for browsers as well: prefix, random characters, checksum. */
export const PREFIX = 'sk-';
export const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** Random characters of a key: 262 bits. */
export const RANDOM_LENGTH = 44;
export const CHECKSUM_LENGTH = 6;

/** Writes the CRC-32 of the random characters in the alphabet of keys. */
export function toChecksum(crc: number): string {
  let rest = crc;
  let text = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i += 1) {
    text = ALPHABET[rest % ALPHABET.length] + text;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return text;
}
