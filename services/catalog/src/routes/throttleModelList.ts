import type { PublicKey } from '@turnpike/config/internalKeys';
import { CLIENT_ADDRESS_HEADER, verifyClientAddress } from '@turnpike/internal-auth/clientAddress';
import { ApiError } from '@turnpike/public-api/apiError';
import { createThrottle, type Throttle } from '@turnpike/request-throttle/createThrottle';
import { toAddressBlock } from '@turnpike/request-throttle/toAddressBlock';
import type { Request } from 'express';
import type { CatalogFault } from '../api/catalogError.ts';

const MAX_ADDRESSES = 50_000;
const EVERYONE = 'everyone';

export interface ModelListLimits {
  perAddressPerMinute: number;
  perMinute: number;
}

export interface ModelListThrottle {
  /** Counts a list by its client's address, the one the edge vouches for, and in all. Throws `list_throttled`. */
  takeModelList(req: Request): void;
  /** Both counters, for all replicas to share. */
  throttles: Record<string, Throttle>;
}

/** The model list's own two counters, which have nothing to do with the key's limits. */
export function createModelListThrottle({
  limits,
  keys,
  now = () => performance.now(),
}: {
  limits: ModelListLimits;
  keys: PublicKey[];
  /** A clock that only goes forward, in milliseconds. */
  now?: () => number;
}): ModelListThrottle {
  const { perAddressPerMinute, perMinute } = limits;
  const byAddress = createThrottle({
    requestsPerMinute: perAddressPerMinute,
    burst: perAddressPerMinute,
    maxNames: MAX_ADDRESSES,
    isShared: true,
    now,
  });
  const inAll = createThrottle({ requestsPerMinute: perMinute, burst: perMinute, maxNames: 1, isShared: true, now });
  return {
    takeModelList(req) {
      const address =
        verifyClientAddress(req.headers[CLIENT_ADDRESS_HEADER], { keys }) ?? req.socket.remoteAddress ?? '';
      const own = byAddress.takeRequest(toAddressBlock(address) ?? 'unknown');
      if (!own.isAllowed)
        throw new ApiError<CatalogFault>({
          kind: 'list_throttled',
          of: 'address',
          perMinute: perAddressPerMinute,
          waitMs: own.waitMs,
        });
      const all = inAll.takeRequest(EVERYONE);
      if (!all.isAllowed)
        throw new ApiError<CatalogFault>({ kind: 'list_throttled', of: 'all', perMinute, waitMs: all.waitMs });
    },
    throttles: { 'list-by-address': byAddress, 'list-in-all': inAll },
  };
}
