import type { IncomingMessage } from 'node:http';
import { toAddressBlock } from '@turnpike/request-throttle/toAddressBlock';

/** A client's address, and the block of addresses whose counters it uses. */
export interface ClientAddress {
  address: string;
  block: string;
}

/**
 * Returns the address of the client behind `trustedHops` proxies. It is the entry of `X-Forwarded-For` at that position
 * from the right, which our own proxies wrote. Entries further left can be forged. Returns the socket's peer without
 * proxies, or if the entry is missing or no address.
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
