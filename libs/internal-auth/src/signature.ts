import { createHmac, timingSafeEqual } from 'node:crypto';

export const sign = (text: string, secret: string): string =>
  createHmac('sha256', secret).update(text).digest('base64url');

/** Compares in constant time whether `signature` is that of `text`. */
export function isSignedBy(secret: string, text: string, signature: string): boolean {
  const expected = Buffer.from(sign(text, secret));
  const given = Buffer.from(signature);
  return expected.length === given.length && timingSafeEqual(expected, given);
}
