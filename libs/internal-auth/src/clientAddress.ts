import type { PublicKey, SigningKey } from '@turnpike/config/internalKeys';
import { LRUCache } from 'lru-cache';
import { isInForce, readSignedText, signText } from './signedText.ts';

/** Header in which the edge vouches for the address a call came from. */
export const CLIENT_ADDRESS_HEADER = 'x-turnpike-client';

/** The header's value for one call: `key id|address|expiry|signature`, valid for 30 s. */
export function signClientAddress(
  address: string,
  { key, now = Date.now }: { key: SigningKey; now?: () => number },
): string {
  return signText('client', address, { key, now });
}

/** Half of what a signed address is good for: whoever reads it has as much left. */
const REUSE_MS = 15_000;
/** Addresses whose signatures are kept; above that all are made anew, so that a flood from many costs no memory. */
const MAX_KEPT = 10_000;

/** Makes a `signClientAddress` that signs an address once for all calls that come from it within 15 s. */
export function createClientAddressSigner({
  key,
  now = Date.now,
}: {
  key: SigningKey;
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
      value = signClientAddress(address, { key, now });
      signed.set(address, value);
    }
    return value;
  };
}

/** Verified values, by the keys that verified them: the edge sends the same value for 15 s. */
const verifiedBy = new WeakMap<PublicKey[], LRUCache<string, { text: string; expiresAt: number }>>();

/** The client address that an edge vouched for, or undefined if none did. */
export function verifyClientAddress(
  value: unknown,
  { keys, now = Date.now }: { keys: PublicKey[]; now?: () => number },
): string | undefined {
  if (typeof value !== 'string' || value.length > 256) return undefined;
  const verified = verifiedBy.get(keys) ?? new LRUCache({ max: MAX_KEPT });
  verifiedBy.set(keys, verified);
  const found = verified.get(value) ?? readSignedText('client', value, keys);
  if (!found) return undefined;
  verified.set(value, found);
  return isInForce(found.expiresAt, now()) ? found.text : undefined;
}
