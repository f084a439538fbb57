import type { PublicKey } from '@turnpike/config/internalKeys';
import type { Guard } from '@turnpike/http-service/guard';
import { ApiError } from '@turnpike/public-api/apiError';
import type { LookUpFault } from '@turnpike/public-api/authFault';
import { createThrottle, type Throttle } from '@turnpike/request-throttle/createThrottle';
import type { KeyBoundMetrics } from '@turnpike/telemetry/keyBoundMetrics';
import type { Request } from 'express';
import type { Authenticator } from './createCachingAuthenticator.ts';
import type { KeyPrincipal } from './keyGuard.ts';
import { addressOf } from './keyGuard.ts';

export interface LookUpGuardOptions {
  authenticator: Pick<Authenticator, 'authenticate'>;
  /** Look-ups a second of one key; twice as many at once after a quiet time. */
  lookUpsPerSecond: number;
  /** Keys that the edge signs the client's address with. */
  tokenKeys: PublicKey[];
  metrics: KeyBoundMetrics;
  /** The number of look-ups that a request takes from its key; 1 unless given. */
  weightOf?: (req: Request) => number;
  /** A clock that only goes forward, in milliseconds. */
  now?: () => number;
}

/** Seconds' worth of look-ups that may come at once: a page that shows a hundred calls looks them all up. */
const BURST_SECONDS = 2;
/** Remembered keys, and addresses. */
const MAX_NAMES = 50_000;

export interface LookUpGuard {
  guard: Guard;
  /** Counts what a key that is let in elsewhere looks up. Throws a `look_ups_exceeded`. */
  count(keyId: string): void;
}

/**
 * Admits a request with a valid API key, up to the key's read requests per second in this process. Throws an
 * `AuthFault` or `look_ups_exceeded` otherwise.
 * A key that is not cached costs a request to auth, and a wrong key is cached only briefly. A client address may
 * therefore try as many uncached keys as one key has read requests.
 */
export function createLookUpGuard(options: LookUpGuardOptions): LookUpGuard {
  const { authenticator, lookUpsPerSecond, tokenKeys, metrics, weightOf = () => 1, now } = options;
  const pace = {
    requestsPerMinute: 60 * lookUpsPerSecond,
    burst: BURST_SECONDS * lookUpsPerSecond,
    maxNames: MAX_NAMES,
    ...(now && { now }),
  };
  const byKey = createThrottle(pace);
  const byAddress = createThrottle(pace);
  const count = (keyId: string, weight = 1): void => {
    const onRefusal = (): void => metrics.keyBoundHit('look_ups', keyId);
    take(byKey, keyId, { of: 'key', perSecond: lookUpsPerSecond }, { weight, onRefusal });
  };

  return {
    count,
    guard: async (req) => {
      const key = await authenticator.authenticate(req.headers.authorization, () =>
        take(byAddress, addressOf(req, tokenKeys), { of: 'address' }),
      );
      count(key.keyId, weightOf(req));
      return { kind: 'key', keyId: key.keyId, key } satisfies KeyPrincipal;
    },
  };
}

function take(
  throttle: Throttle,
  name: string,
  limit: { of: 'key'; perSecond: number } | { of: 'address' },
  { weight, onRefusal }: { weight?: number; onRefusal?: () => void } = {},
): void {
  const { isAllowed, waitMs } = throttle.takeRequest(name, weight);
  if (isAllowed) return;
  onRefusal?.();
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1_000));
  throw new ApiError<LookUpFault>({ kind: 'look_ups_exceeded', ...limit, retryAfterSeconds });
}
