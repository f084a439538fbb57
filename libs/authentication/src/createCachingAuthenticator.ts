import { isWellFormedApiKey, toKeySha256 } from '@turnpike/api-keys/apiKey';
import type { Region } from '@turnpike/config/region';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { ApiError } from '@turnpike/public-api/apiError';
import type { AuthFault } from '@turnpike/public-api/authFault';
import type { ModelNotAllowed } from '@turnpike/public-api/modelNotAllowed';
import { LRUCache } from 'lru-cache';

/** Pause after a question that got no verdict, before the next one about a key whose verdict may still be used. */
const RENEWAL_PAUSE_MS = 1_000;
/** A refusal is cached for this long at most, so that a key works soon after it becomes valid again. */
const REFUSAL_TTL_MS = 5_000;

export interface Authenticator {
  /**
   * Returns the record of the key in an `Authorization` header. Throws an `AuthFault` without a valid key. Throws
   * `auth_unavailable` without a verdict before the deadline, because an unverified key never passes.
   * Calls `beforeAsking` before it asks about a key that is unknown or was invalid, unless a request about the key is
   * already in progress. If `beforeAsking` throws, the authenticator rethrows and does not ask.
   */
  authenticate(authorization: string | undefined, beforeAsking?: () => void): Promise<KeyRecord>;
  /** Forgets what is cached about a key, so that the next call asks again. */
  forget(keyId: string): void;
  /** Throws `model_not_allowed` unless the key may call the model. The next call asks for a newer record, once in 5 s for a key. */
  assertMayCall(key: KeyRecord, modelId: string): void;
}

export interface CachingAuthenticator extends Authenticator {
  /** Forgets all verdicts, also those that are on their way: the next call of any key asks again. */
  forgetAll(): void;
}

export interface CachingAuthenticatorOptions {
  /** The record of the key with this SHA-256, undefined for none. What it throws means that there is no verdict. */
  findKey: (keySha256: string) => Promise<KeyRecord | undefined>;
  region: Region;
  /** How long a verdict may be reused; one by which calls are refused 5 s at most. */
  cacheTtlMs: number;
  /**
   * How much longer a verdict that lets a key in may be reused if a question about the key gets no verdict. Above 0, the first use past
   * half of `cacheTtlMs` asks in the background. A key in use then goes on for the whole of `cacheTtlMs` without auth.
   */
  graceMs?: number;
  /** Monotonic time. */
  nowMs?: () => number;
}

/** The record of a key, and until when it is used. */
interface Verdict {
  key: KeyRecord;
  /** From then on a use asks in the background. */
  renewAtMs: number;
  /** From then on a use asks first. */
  freshUntilMs: number;
  /** Until then a use past `freshUntilMs` asks nothing, because a question has just had no verdict. */
  askAgainAtMs: number;
  /** From then on the verdict is not used. */
  usableUntilMs: number;
}

/** Answers 'who is calling' from a small cache by the key's full hash, else by asking once for all that wait. */
export function createCachingAuthenticator(options: CachingAuthenticatorOptions): CachingAuthenticator {
  const { findKey, region, cacheTtlMs, graceMs = 0, nowMs = () => performance.now() } = options;
  const refusalTtlMs = Math.min(cacheTtlMs, REFUSAL_TTL_MS);
  // Unknown keys are kept apart, so that a flood of them cannot push the known ones out.
  // Old ones stay, for a key is asked about again by whoever calls with it.
  const known = new LRUCache<string, Verdict>({
    max: 50_000,
    noDisposeOnSet: true,
    dispose: ({ key: { keyId } }, keySha256) => unlist(keyId, keySha256),
  });
  /** Keys whose records were forgotten because they did not allow a model. */
  const doubted = new LRUCache<string, true>({ max: 50_000, ttl: refusalTtlMs });
  const unknown = new LRUCache<string, true>({ max: 50_000, ttl: refusalTtlMs });
  // Exactly the hashes in `known`, so that `forget` misses no record. A key has two secrets at most: the last two that were let in.
  const hashesOfKeyId = new Map<string, string[]>();
  let questions = new Map<string, Promise<KeyRecord | undefined>>();

  function unlist(keyId: string, keySha256: string): void {
    const others = hashesOfKeyId.get(keyId)?.filter((hash) => hash !== keySha256) ?? [];
    if (others.length > 0) hashesOfKeyId.set(keyId, others);
    else hashesOfKeyId.delete(keyId);
  }

  async function ask(keySha256: string, asked: typeof questions): Promise<KeyRecord | undefined> {
    // A record is as old as its question at most, so that no call is late for the end of the key.
    const askedAtMs = nowMs();
    const key = await findKey(keySha256).catch((error: unknown) => {
      throw new ApiError<AuthFault>({ kind: 'auth_unavailable' }, { cause: error });
    });
    // Asked before all was forgotten: whoever asked then gets this verdict, and it is not kept.
    if (asked !== questions) return key;
    const lifeMs = key ? lifeOf(key) : 0;
    if (!key || lifeMs <= 0) {
      known.delete(keySha256);
      unknown.set(keySha256, true);
      return undefined;
    }
    known.set(keySha256, toVerdict(key, { lifeMs, askedAtMs }));
    const [other, ...ended] = (hashesOfKeyId.get(key.keyId) ?? []).filter((hash) => hash !== keySha256);
    for (const hash of ended) known.delete(hash);
    hashesOfKeyId.set(key.keyId, other === undefined ? [keySha256] : [keySha256, other]);
    return key;
  }

  function toVerdict(key: KeyRecord, { lifeMs, askedAtMs }: { lifeMs: number; askedAtMs: number }): Verdict {
    const isLetIn = !key.isBlocked && key.workspace.billingStatus === 'active';
    const freshMs = Math.min(isLetIn ? cacheTtlMs : refusalTtlMs, Math.ceil(lifeMs));
    const usableMs = isLetIn ? Math.min(cacheTtlMs + graceMs, Math.ceil(lifeMs)) : freshMs;
    return {
      key,
      renewAtMs: askedAtMs + (graceMs > 0 && isLetIn ? cacheTtlMs / 2 : Number.POSITIVE_INFINITY),
      freshUntilMs: askedAtMs + freshMs,
      askAgainAtMs: askedAtMs,
      usableUntilMs: askedAtMs + usableMs,
    };
  }

  /** Asks about a key whose verdict is still used meanwhile. */
  function renew(keySha256: string, verdict: Verdict): void {
    verdict.renewAtMs = nowMs() + RENEWAL_PAUSE_MS;
    askOnce(keySha256, undefined).catch(() => undefined);
  }

  /** Returns the record of a key that is asked about first. Without a verdict the one before is used, if it still may be. */
  async function askFirst(keySha256: string, beforeAsking: (() => void) | undefined): Promise<KeyRecord | undefined> {
    try {
      return await askOnce(keySha256, beforeAsking);
    } catch (error) {
      const before = known.peek(keySha256);
      const isUnanswered = error instanceof ApiError && error.fault.kind === 'auth_unavailable';
      if (!isUnanswered || !before || nowMs() >= before.usableUntilMs) throw error;
      before.askAgainAtMs = nowMs() + RENEWAL_PAUSE_MS;
      return before.key;
    }
  }

  /** One question at a time for a key, however many calls wait for it. */
  function askOnce(keySha256: string, beforeAsking: (() => void) | undefined): Promise<KeyRecord | undefined> {
    const running = questions.get(keySha256);
    if (running) return running;
    if (!known.has(keySha256)) beforeAsking?.();
    const asked = questions;
    const asking = ask(keySha256, asked).finally(() => asked.delete(keySha256));
    asked.set(keySha256, asking);
    return asking;
  }

  function forget(keyId: string): void {
    for (const keySha256 of hashesOfKeyId.get(keyId) ?? []) known.delete(keySha256);
  }

  return {
    async authenticate(authorization, beforeAsking) {
      const keySha256 = parseAuthorization(authorization);
      const verdict = known.get(keySha256);
      const now = nowMs();
      let key: KeyRecord | undefined;
      if (verdict && now < verdict.freshUntilMs) {
        if (now >= verdict.renewAtMs) renew(keySha256, verdict);
        key = verdict.key;
      } else if (verdict && now < verdict.usableUntilMs && now < verdict.askAgainAtMs) {
        key = verdict.key;
      } else if (!unknown.has(keySha256)) {
        key = await askFirst(keySha256, beforeAsking);
      }
      if (!key) throw refuse('invalid_api_key');
      if (key.isBlocked) throw refuse('key_blocked');
      if (key.workspace.region !== region) throw refuse('region_not_served');
      return key;
    },
    forget,
    assertMayCall({ keyId, allowedModels }, model) {
      if (allowedModels === null || allowedModels.includes(model)) return;
      if (!doubted.has(keyId)) {
        doubted.set(keyId, true);
        forget(keyId);
      }
      throw new ApiError<ModelNotAllowed>({ kind: 'model_not_allowed', model, allowedModels });
    },
    forgetAll() {
      known.clear();
      unknown.clear();
      questions = new Map();
    },
  };
}

/** Time until a key expires by its database's clock, ms; by this process' clock if an older release of auth does not say. */
const lifeOf = ({ expiresAt, expiresInMs }: KeyRecord): number =>
  expiresInMs ?? (expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt) - Date.now());

const refuse = (kind: AuthFault['kind']): ApiError<AuthFault> => new ApiError({ kind });

const AUTHORIZATION_PATTERN = /^Bearer +([\x21-\x7e]{1,200})$/i;

/**
 * The SHA-256 of the API key in an `Authorization` header: `Bearer` in any case, one or more spaces, the key (RFC 6750, 2.1). Throws an
 * `AuthFault` without a key, and for a key whose checksum is wrong.
 */
function parseAuthorization(authorization: string | undefined): string {
  if (authorization === undefined || authorization === '') throw refuse('missing_authorization');
  const apiKey = AUTHORIZATION_PATTERN.exec(authorization)?.[1];
  if (apiKey === undefined) throw refuse('malformed_authorization');
  if (!isWellFormedApiKey(apiKey)) throw refuse('invalid_api_key');
  return toKeySha256(apiKey);
}
