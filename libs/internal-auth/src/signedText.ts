import { sign, verify } from 'node:crypto';
import type { PublicKey, SigningKey } from '@turnpike/config/internalKeys';

/** How long what is signed is good for by the clock of whoever signed it. */
export const LIFETIME_MS = 30_000;
/**
 * How far the clocks of two hosts may be apart. It is what a replay gains: whoever reads a signed header on the way may use it
 * for so long beyond its lifetime.
 */
export const CLOCK_SKEW_MS = 300_000;

/** The instant to sign as the end of what is signed now. */
export const expiryAfter = (now: number): number => now + LIFETIME_MS;

/**
 * Whether an expiry time is valid by the reader's clock. An expiry that no clock within the bounds would have signed is
 * invalid. A token of a host whose clock is years ahead would otherwise be good for years.
 */
export function isInForce(expiresAt: number, now: number): boolean {
  const expiredMs = now - expiresAt;
  return expiredMs < CLOCK_SKEW_MS && expiredMs >= -LIFETIME_MS - CLOCK_SKEW_MS;
}

/** A kind of text that the edge signs. A text of one kind is no text of another. */
type Kind = 'client' | 'console';

const toSigned = (kind: Kind, claims: string): Buffer => Buffer.from(`${kind} ${claims}`);

/** Signs a text without `|` for 30 s: `key id|text|expiry|signature`. */
export function signText(kind: Kind, text: string, { key, now }: { key: SigningKey; now: () => number }): string {
  const claims = `${key.id}|${text}|${expiryAfter(now())}`;
  return `${claims}|${sign(null, toSigned(kind, claims), key.privateKey).toString('base64url')}`;
}

/** Returns a text that an edge signed, with its expiry; undefined if no edge signed it. */
export function readSignedText(
  kind: Kind,
  value: string,
  keys: PublicKey[],
): { text: string; expiresAt: number } | undefined {
  const parts = value.split('|');
  const [keyId, text, expiresAt, signature] = parts;
  if (parts.length !== 4 || !text || !expiresAt || !signature) return undefined;
  const key = keys.find(({ id, issuer }) => id === keyId && issuer.endsWith('/edge'));
  if (!key) return undefined;
  const claims = toSigned(kind, `${keyId}|${text}|${expiresAt}`);
  if (!verify(null, claims, key.publicKey, Buffer.from(signature, 'base64url'))) return undefined;
  return { text, expiresAt: Number(expiresAt) };
}
