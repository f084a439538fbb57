import type { Region } from '@turnpike/config/region';
import { authApi } from '@turnpike/internal-api/auth';
import { CONNECT_TIMEOUT_MS, createClient } from '@turnpike/internal-api/transport/createClient';
import type { InternalHeaders } from '@turnpike/internal-auth/internalToken';
import { Agent } from 'undici';
import { type Authenticator, createCachingAuthenticator } from './createCachingAuthenticator.ts';

export type { Authenticator };

export interface AuthenticatorOptions {
  /** Base address of auth's internal listener. */
  authUrl: string;
  region: Region;
  internalHeaders: InternalHeaders;
  /** How long a verdict may be reused; one by which calls are refused 5 s at most. */
  cacheTtlMs: number;
  /** How much longer a verdict that lets a key in may be reused while auth gives none; 0 unless given. */
  graceMs?: number;
  /** Longest wait for a verdict. */
  timeoutMs?: number;
  /** Most questions to auth at once; those above wait, within their deadline. As many as there are unless given. */
  questionsAtOnce?: number;
}

/** Answers 'who is calling' from a small cache, else from `auth`. */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { authUrl, region, internalHeaders, cacheTtlMs, graceMs = 0, timeoutMs = 500, questionsAtOnce } = options;
  const dispatcher =
    questionsAtOnce === undefined
      ? undefined
      : new Agent({ connections: questionsAtOnce, connect: { timeout: CONNECT_TIMEOUT_MS } });
  const auth = createClient(authApi, { url: authUrl, internalHeaders, timeoutMs, dispatcher });
  return createCachingAuthenticator({
    region,
    cacheTtlMs,
    graceMs,
    findKey: async (keySha256) => (await auth.verifyKey({ body: { key_sha256: keySha256 } })).key ?? undefined,
  });
}
