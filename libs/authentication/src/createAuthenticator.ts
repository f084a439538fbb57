import { ApiError } from '@turnpike/api-errors/apiError';
import type { AuthFault } from '@turnpike/api-errors/authFault';
import { LRUCache } from 'lru-cache';
import { request } from 'undici';
import { z } from 'zod';
import { assertUsable } from './assertUsable.ts';
import { type KeyRecord, keyRecordSchema } from './keyRecord.ts';
import { parseAuthorization } from './parseAuthorization.ts';

/** A verdict that lets nobody in is kept this long at most, so that a key is not kept out long after it may come in again. */
const REFUSAL_TTL_MS = 5_000;

const verdictSchema = z.object({ key: keyRecordSchema.nullable() });

export interface Authenticator {
  /**
   * The record of the key in an `Authorization` header. Throws an `AuthFault` when there is none; `auth_unavailable` when
   * `auth` gave no verdict within the deadline, since an unverified key never passes.
   */
  authenticate(authorization: string | undefined): Promise<KeyRecord>;
  /** Forgets what is cached about a key, so that the next call asks `auth` again. */
  forget(keyId: string): void;
}

export interface AuthenticatorOptions {
  /** Base address of auth's internal listener. */
  authUrl: string;
  region: 'us' | 'eu';
  internalHeaders: (audience: string) => Record<string, string>;
  /** How long a verdict may be reused; one by which calls are refused 5 s at most. */
  cacheTtlMs: number;
  /** Longest wait for a verdict. */
  timeoutMs?: number;
}

/** Answers 'who is calling' from a small cache by the key's full hash, else from `auth`. */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { authUrl, region, internalHeaders, cacheTtlMs, timeoutMs = 500 } = options;
  const refusalTtlMs = Math.min(cacheTtlMs, REFUSAL_TTL_MS);
  // Unknown keys are kept apart, so that a flood of them cannot push the known ones out.
  const known = new LRUCache<string, KeyRecord>({ max: 50_000, ttl: cacheTtlMs });
  const unknown = new LRUCache<string, true>({ max: 50_000, ttl: refusalTtlMs });
  const hashOfKeyId = new LRUCache<string, string>({ max: 50_000 });
  const lookUps = new Map<string, Promise<KeyRecord | undefined>>();

  async function lookUp(keySha256: string): Promise<KeyRecord | undefined> {
    try {
      const { statusCode, body } = await request(`${authUrl}/internal/keys/verify`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...internalHeaders('auth') },
        body: JSON.stringify({ key_sha256: keySha256 }),
        signal: AbortSignal.timeout(timeoutMs),
      });
      const text = await body.text();
      if (statusCode !== 200) throw new Error(`auth answered ${statusCode}`);
      const { key } = verdictSchema.parse(JSON.parse(text));
      if (!key) {
        unknown.set(keySha256, true);
        return undefined;
      }
      const isLetIn = !key.isBlocked && key.workspace.billingStatus === 'active';
      known.set(keySha256, key, { ttl: isLetIn ? cacheTtlMs : refusalTtlMs });
      hashOfKeyId.set(key.keyId, keySha256);
      return key;
    } catch (error) {
      throw new ApiError<AuthFault>({ kind: 'auth_unavailable' }, { cause: error });
    }
  }

  /** One look-up at a time for a key, however many calls wait for it. */
  function findKey(keySha256: string): Promise<KeyRecord | undefined> {
    const running = lookUps.get(keySha256);
    if (running) return running;
    const lookingUp = lookUp(keySha256).finally(() => lookUps.delete(keySha256));
    lookUps.set(keySha256, lookingUp);
    return lookingUp;
  }

  return {
    async authenticate(authorization) {
      const keySha256 = parseAuthorization(authorization);
      const key = known.get(keySha256) ?? (unknown.has(keySha256) ? undefined : await findKey(keySha256));
      assertUsable(key, region);
      return key;
    },
    forget(keyId) {
      const keySha256 = hashOfKeyId.get(keyId);
      if (keySha256 !== undefined) known.delete(keySha256);
    },
  };
}
