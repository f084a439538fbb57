import { randomBytes } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const BYTES = 16;
/** As many digits as 128 bits have at the most. */
const DIGITS = 22;

/** A name that nobody guesses: 128 random bits. */
export function makeJobId(prefix: 'video' | 'job'): string {
  let rest = BigInt(`0x${randomBytes(BYTES).toString('hex')}`);
  let digits = '';
  for (let place = 0; place < DIGITS; place += 1) {
    digits = ALPHABET[Number(rest % 62n)] + digits;
    rest /= 62n;
  }
  return `${prefix}_${digits}`;
}
