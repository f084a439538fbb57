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

/** Half of what a signed address is good for: whoever reads it has as much left. */
const REUSE_MS = 15_000;
/** Addresses whose signatures are kept; above that all are made anew, so that a flood from many costs no memory. */
const MAX_KEPT = 10_000;

/** Makes a `signClientAddress` that signs an address once for all calls that come from it within 15 s. */
export function createClientAddressSigner({
  keys,
  now = Date.now,
}: {
  keys: NamedSecret[];
  now?: () => number;
}): (address: string) => string {
  const signed = new Map<string, string>();
  let reuseUntil = 0;
  return (address) => {
    const nowMs = now();
    const leftMs = reuseUntil - nowMs;
    // More is left than ever was where the clock was set back.
    if (leftMs <= 0 || leftMs > REUSE_MS || signed.size >= MAX_KEPT) {
      signed.clear();
      reuseUntil = nowMs + REUSE_MS;
    }
    let value = signed.get(address);
    if (value === undefined) {
      value = signClientAddress(address, { keys, now });
      signed.set(address, value);
    }
    return value;
  };
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
