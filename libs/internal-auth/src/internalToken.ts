import type { NamedSecret } from '@turnpike/config/secrets';
import { expiryAfter, isInForce } from './expiry.ts';
import { isSignedBy, sign } from './signature.ts';

/** Header that carries the token on every call between services. */
export const INTERNAL_TOKEN_HEADER = 'x-turnpike-internal';

const REUSE_MS = 15_000;

/**
 * Makes `internalHeaders(audience)`: the headers that prove, for 30 s by both hosts' clocks, that a call to `audience` comes from
 * `service`: its name, and behind a colon who uses it where people do (`operator:alice`); without a dot. A token is reused for half
 * its life, so signing costs nothing on the path of a call.
 */
export function createTokenIssuer({
  service,
  keys,
  now = Date.now,
}: {
  service: string;
  keys: NamedSecret[];
  now?: () => number;
}) {
  const [key] = keys;
  if (!key) throw new Error('no key to sign internal tokens with');
  const issued = new Map<string, { token: string; reuseUntil: number }>();
  return function internalHeaders(audience: string): Record<string, string> {
    const current = issued.get(audience);
    const reuseMs = (current?.reuseUntil ?? 0) - now();
    // More is left than ever was where the clock was set back: others would find that token's end too far ahead.
    if (current && reuseMs > 0 && reuseMs <= REUSE_MS) return { [INTERNAL_TOKEN_HEADER]: current.token };
    const claims = `v1.${key.id}.${service}.${audience}.${expiryAfter(now())}`;
    const token = `${claims}.${sign(claims, key.secret)}`;
    issued.set(audience, { token, reuseUntil: now() + REUSE_MS });
    return { [INTERNAL_TOKEN_HEADER]: token };
  };
}

/** The name of the service that signed a token for `audience`, or undefined if it is missing, forged, expired or another's. */
export function verifyInternalToken(
  token: unknown,
  { audience, keys, now = Date.now }: { audience: string; keys: NamedSecret[]; now?: () => number },
): string | undefined {
  if (typeof token !== 'string' || token.length > 512) return undefined;
  const parts = token.split('.');
  const [version, keyId, service, tokenAudience, expiresAt, signature] = parts;
  if (parts.length !== 6 || version !== 'v1' || !service || !signature || tokenAudience !== audience) return undefined;
  const key = keys.find(({ id }) => id === keyId);
  if (!key || !isSignedBy(key.secret, parts.slice(0, 5).join('.'), signature)) return undefined;
  return isInForce(expiresAt, now()) ? service : undefined;
}
