import type { PublicKey, SigningKey } from '@turnpike/config/internalKeys';
import { GLOBAL_SERVICES } from '@turnpike/config/services';
import { jwtVerify, SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';
import { CLOCK_SKEW_MS, isInForce, LIFETIME_MS } from './signedText.ts';

/** Header that carries the token on every call between services. */
export const INTERNAL_TOKEN_HEADER = 'x-turnpike-internal';

const ALGORITHM = 'EdDSA';
const TYPE = 'turnpike-internal+jwt';
const REUSE_MS = 15_000;
/** Verified tokens that a process remembers: its callers times their routes, and as many again. */
const MAX_VERIFIED = 2_000;
const MAX_TOKEN_LENGTH = 1_024;

/**
 * Returns the headers that prove a call of one route of one service to that service, for 30 s by both hosts' clocks. A route is
 * method and pattern: `GET /internal/keys/:key_id`.
 */
export type InternalHeaders = (
  service: string,
  route: string,
) => Record<string, string> | Promise<Record<string, string>>;

/**
 * Signs the calls of the service whose key it is. `user` is the person who uses the operator's key. A token serves for half its
 * life, so signing costs nothing on the path of a call.
 */
export function createTokenIssuer({
  key: { issuer, id, privateKey },
  user,
  now = Date.now,
}: {
  key: SigningKey;
  user?: string;
  now?: () => number;
}): InternalHeaders {
  const scope = issuer.slice(0, issuer.indexOf('/'));
  const issued = new Map<string, { headers: Record<string, string>; reuseUntil: number }>();

  async function issue(service: string, route: string): Promise<Record<string, string>> {
    const issuedAtMs = now();
    const issuedAt = Math.floor(issuedAtMs / 1_000);
    const token = await new SignJWT({ route, ...(user !== undefined && { sub: user }) })
      .setProtectedHeader({ alg: ALGORITHM, kid: id, typ: TYPE })
      .setIssuer(issuer)
      .setAudience(`${isGlobal(service) ? 'global' : scope}/${service}`)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + LIFETIME_MS / 1_000)
      .sign(privateKey);
    const headers = { [INTERNAL_TOKEN_HEADER]: token };
    issued.set(`${service} ${route}`, { headers, reuseUntil: issuedAtMs + REUSE_MS });
    return headers;
  }

  return (service, route) => {
    const current = issued.get(`${service} ${route}`);
    const reuseMs = (current?.reuseUntil ?? 0) - now();
    // More is left than ever was where the clock was set back: others would find that token's end too far ahead.
    return current && reuseMs > 0 && reuseMs <= REUSE_MS ? current.headers : issue(service, route);
  };
}

const isGlobal = (service: string): boolean => GLOBAL_SERVICES.some((name) => name === service);

/** The sender of a call. */
export interface InternalCaller {
  /** Without its scope: `auth`, `operator`. */
  service: string;
  /** The region that the sender serves, or `global`. */
  scope: string;
  /** The person who uses the operator's key. */
  user: string | undefined;
}

/** Returns the sender of a call with this token to this route, or undefined if the token does not prove it. */
export type VerifyInternalToken = (token: unknown, route: string) => Promise<InternalCaller | undefined>;

/** Verifies tokens for one service of one scope (`us/auth`), each once: a caller sends the same one for 15 s. */
export function createTokenVerifier({
  audience,
  keys,
  now = Date.now,
}: {
  audience: string;
  keys: PublicKey[];
  now?: () => number;
}): VerifyInternalToken {
  const keysById = new Map(keys.map((key) => [key.id, key]));
  const verified = new LRUCache<string, { caller: InternalCaller; route: unknown; expiresAt: number }>({
    max: MAX_VERIFIED,
  });

  async function read(token: string) {
    let issuer: string | undefined;
    const { payload } = await jwtVerify(
      token,
      ({ kid }) => {
        const key = keysById.get(kid ?? '');
        if (!key) throw new Error('no key has this id');
        issuer = key.issuer;
        return key.publicKey;
      },
      {
        audience,
        algorithms: [ALGORITHM],
        typ: TYPE,
        requiredClaims: ['iss', 'exp', 'iat'],
        clockTolerance: CLOCK_SKEW_MS / 1_000,
        maxTokenAge: LIFETIME_MS / 1_000,
        currentDate: new Date(now()),
      },
    );
    if (issuer === undefined || payload.iss !== issuer) throw new Error('the key is of another issuer');
    const [scope = '', service = ''] = issuer.split('/');
    const caller = { service, scope, user: payload.sub };
    return { caller, route: payload.route, expiresAt: Number(payload.exp) * 1_000 };
  }

  return async (token, route) => {
    if (typeof token !== 'string' || token.length > MAX_TOKEN_LENGTH) return undefined;
    let found = verified.get(token);
    if (!found) {
      found = await read(token).catch(() => undefined);
      if (!found) return undefined;
      verified.set(token, found);
    }
    return found.route === route && isInForce(found.expiresAt, now()) ? found.caller : undefined;
  };
}
