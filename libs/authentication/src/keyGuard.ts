import type { PublicKey } from '@turnpike/config/internalKeys';
import type { Guard } from '@turnpike/http-service/guard';
import { type Principal, principalOf } from '@turnpike/http-service/observeRequests';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { CLIENT_ADDRESS_HEADER, verifyClientAddress } from '@turnpike/internal-auth/clientAddress';
import { ApiError } from '@turnpike/public-api/apiError';
import type { LookUpFault } from '@turnpike/public-api/authFault';
import { createThrottle } from '@turnpike/request-throttle/createThrottle';
import { toAddressBlock } from '@turnpike/request-throttle/toAddressBlock';
import type { Request, Response } from 'express';
import type { Authenticator } from './createAuthenticator.ts';

/**
 * Limit on keys of one client address that auth is being asked about or has refused. A verdict takes auth some
 * milliseconds, so this is a small part of its capacity. Another client at that address is refused for up to a second
 * if its key is not cached.
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
 * Admits a request with a valid API key. Throws an `AuthFault` otherwise. Throws `look_ups_exceeded` for a client
 * address over its limit of wrong keys, without asking auth. The handler gets the key's record from `callingKey`.
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
    return { kind: 'key', keyId: key.keyId, key } satisfies KeyPrincipal;
  };
}

/** The API key that a request came with. */
export interface KeyPrincipal extends Principal {
  kind: 'key';
  keyId: string;
  key: KeyRecord;
}

/** The key that a request behind the key guard came with. */
export function callingKey(res: Response): KeyRecord {
  const principal = principalOf(res);
  if (principal.kind !== 'key') throw new Error('the route has no key guard');
  return (principal as KeyPrincipal).key;
}

/**
 * The address that a request is counted under: the client's, as the edge signed it with one of `keys`, else the
 * connection's.
 */
export function addressOf({ headers, socket }: Request, keys: PublicKey[]): string {
  const address = verifyClientAddress(headers[CLIENT_ADDRESS_HEADER], { keys }) ?? socket.remoteAddress;
  return toAddressBlock(address ?? '') ?? 'unknown';
}
