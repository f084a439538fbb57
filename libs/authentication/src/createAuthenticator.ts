import { keyRecordSchema } from '@turnpike/internal-api/keyRecord';
import { Agent, request } from 'undici';
import { z } from 'zod';
import { type Authenticator, createCachingAuthenticator } from './createCachingAuthenticator.ts';

export type { Authenticator };

const verdictSchema = z.object({ key: keyRecordSchema.nullable() });

export interface AuthenticatorOptions {
  /** Base address of auth's internal listener. */
  authUrl: string;
  region: 'us' | 'eu';
  internalHeaders: (audience: string) => Record<string, string>;
  /** How long a verdict may be reused; one by which calls are refused 5 s at most. */
  cacheTtlMs: number;
  /** Longest wait for a verdict. */
  timeoutMs?: number;
  /** Most questions to auth at once; those above wait, within their deadline. As many as there are unless given. */
  questionsAtOnce?: number;
}

/** Answers 'who is calling' from a small cache, else from `auth`. */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { authUrl, region, internalHeaders, cacheTtlMs, timeoutMs = 500, questionsAtOnce } = options;
  const dispatcher = questionsAtOnce === undefined ? undefined : new Agent({ connections: questionsAtOnce });
  return createCachingAuthenticator({
    region,
    cacheTtlMs,
    async findKey(keySha256) {
      const { statusCode, body } = await request(`${authUrl}/internal/keys/verify`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...internalHeaders('auth') },
        body: JSON.stringify({ key_sha256: keySha256 }),
        signal: AbortSignal.timeout(timeoutMs),
        ...(dispatcher && { dispatcher }),
      });
      const text = await body.text();
      if (statusCode !== 200) throw new Error(`auth answered ${statusCode}`);
      return verdictSchema.parse(JSON.parse(text)).key ?? undefined;
    },
  });
}
