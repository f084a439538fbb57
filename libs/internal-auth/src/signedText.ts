import { sign, verify } from 'node:crypto';
import type { PublicKey, SigningKey } from '@turnpike/config/internalKeys';
import { expiryAfter } from './expiry.ts';

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
