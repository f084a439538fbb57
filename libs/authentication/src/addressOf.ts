import type { NamedSecret } from '@turnpike/config/secrets';
import { CLIENT_ADDRESS_HEADER, verifyClientAddress } from '@turnpike/internal-auth/clientAddress';
import { toAddressBlock } from '@turnpike/request-throttle/toAddressBlock';
import type { Request } from 'express';

/** What a client's address is counted under: the edge says it, signed with one of `keys`; else it is the connection's. */
export function addressOf({ headers, socket }: Request, keys: NamedSecret[]): string {
  const address = verifyClientAddress(headers[CLIENT_ADDRESS_HEADER], { keys }) ?? socket.remoteAddress;
  return toAddressBlock(address ?? '') ?? 'unknown';
}
