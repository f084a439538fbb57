import type { PublicKey } from '@turnpike/config/internalKeys';
import { CLIENT_ADDRESS_HEADER, verifyClientAddress } from '@turnpike/internal-auth/clientAddress';
import { toAddressBlock } from '@turnpike/request-throttle/toAddressBlock';
import type { Request } from 'express';

/**
 * The address that a request is counted under: the client's, as the edge signed it with one of `keys`, else the
 * connection's.
 */
export function addressOf({ headers, socket }: Request, keys: PublicKey[]): string {
  const address = verifyClientAddress(headers[CLIENT_ADDRESS_HEADER], { keys }) ?? socket.remoteAddress;
  return toAddressBlock(address ?? '') ?? 'unknown';
}
