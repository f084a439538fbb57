import type { IncomingMessage } from 'node:http';
import { toAddressBlock } from '@turnpike/request-throttle/toAddressBlock';

/** A client's address, and the block of addresses that it is counted under. */
export interface ClientAddress {
  address: string;
  block: string;
}

/**
 * The address of the client behind `trustedHops` proxies: that many entries from the right of `X-Forwarded-For`, which our
 * own proxies wrote; what stands further left anyone can invent. The socket's peer when there are no proxies, or when the
 * entry is missing or no address.
 */
export function findClientAddress(req: IncomingMessage, trustedHops: number): ClientAddress {
  const forwarded = trustedHops > 0 ? entryFromRight(req.headers['x-forwarded-for'], trustedHops) : undefined;
  const forwardedBlock = forwarded === undefined ? undefined : toAddressBlock(forwarded);
  if (forwarded !== undefined && forwardedBlock !== undefined) return { address: forwarded, block: forwardedBlock };
  const peer = req.socket.remoteAddress ?? '';
  return { address: peer, block: toAddressBlock(peer) ?? peer };
}

function entryFromRight(header: string | string[] | undefined, position: number): string | undefined {
  return header?.toString().split(',').at(-position)?.trim();
}
