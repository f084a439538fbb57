import type { PublicKey } from '@turnpike/config/internalKeys';
import { type Guard, type Principal, principalOf } from '@turnpike/http-service/guard';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { ApiError } from '@turnpike/public-api/apiError';
import type { LookUpFault } from '@turnpike/public-api/authFault';
import { createThrottle } from '@turnpike/request-throttle/createThrottle';
import type { Response } from 'express';
import { addressOf } from './addressOf.ts';
import type { Authenticator } from './createAuthenticator.ts';

/**
 * Keys of one client address that are being asked about, or turned out to be none: a verdict takes auth some milliseconds, so
 * that this is a small part of what it gives. Whoever shares the address is kept out by it for a second, if their key was not
 * seen before.
 */
const WRONG_KEYS = { requestsPerMinute: 3_000, burst: 100, maxNames: 50_000 };

export interface KeyGuardOptions {
  authenticator: Pick<Authenticator, 'authenticate'>;
  /** Keys that the edge signs the client's address with. */
  tokenKeys: PublicKey[];
  /** A clock that only goes forward, in milliseconds. */
  now?: () => number;
}

/**
 * Lets in whoever brings a valid API key; throws an `AuthFault` otherwise, or a `look_ups_exceeded` where a client address
 * tries more wrong keys than one may: of those nobody is asked. The handler asks `callingKey` who it is.
 */
export function createKeyGuard({ authenticator, tokenKeys, now }: KeyGuardOptions): Guard {
  const wrongKeys = createThrottle({ ...WRONG_KEYS, ...(now && { now }) });
  return async (req) => {
    let takenBy: string | undefined;
    const key = await authenticator.authenticate(req.headers.authorization, () => {
      const address = addressOf(req, tokenKeys);
      const { isAllowed, waitMs } = wrongKeys.takeRequest(address);
      const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1_000));
      if (!isAllowed) throw new ApiError<LookUpFault>({ kind: 'look_ups_exceeded', of: 'address', retryAfterSeconds });
      takenBy = address;
    });
    if (takenBy !== undefined) wrongKeys.giveBack(takenBy);
    return { kind: 'key', key } satisfies KeyPrincipal;
  };
}

/** The API key that a request came with. */
export interface KeyPrincipal extends Principal {
  kind: 'key';
  key: KeyRecord;
}

/** The key that a request behind the key guard came with. */
export function callingKey(res: Response): KeyRecord {
  const principal = principalOf(res);
  if (principal.kind !== 'key') throw new Error('the route has no key guard');
  return (principal as KeyPrincipal).key;
}
