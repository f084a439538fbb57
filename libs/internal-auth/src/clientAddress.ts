import type { NamedSecret } from '@turnpike/config/secrets';
import { expiryAfter, isInForce } from './expiry.ts';
import { isSignedBy, sign } from './signature.ts';

/** Header in which the edge vouches for the address a call came from. */
export const CLIENT_ADDRESS_HEADER = 'x-turnpike-client';

/** The header's value for one call: `keyId|address|expiry|signature`, valid for 30 s. */
export function signClientAddress(
  address: string,
  { keys, now = Date.now }: { keys: NamedSecret[]; now?: () => number },
): string {
  const [key] = keys;
  if (!key) throw new Error('no key to sign client addresses with');
  const claims = `${key.id}|${address}|${expiryAfter(now())}`;
  return `${claims}|${sign(`client ${claims}`, key.secret)}`;
}

/** The client address the edge vouched for, or undefined if nobody did. */
export function verifyClientAddress(
  value: unknown,
  { keys, now = Date.now }: { keys: NamedSecret[]; now?: () => number },
): string | undefined {
  if (typeof value !== 'string' || value.length > 256) return undefined;
  const parts = value.split('|');
  const [keyId, address, expiresAt, signature] = parts;
  if (parts.length !== 4 || !address || !signature) return undefined;
  const key = keys.find(({ id }) => id === keyId);
  if (!key || !isSignedBy(key.secret, `client ${parts.slice(0, 3).join('|')}`, signature)) return undefined;
  return isInForce(expiresAt, now()) ? address : undefined;
}
