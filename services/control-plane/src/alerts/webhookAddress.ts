import { isIP } from 'node:net';
import { findDialledAddresses, hostAndPortOf, parseImageUrl } from '@turnpike/request-reading/images/imageAddress';
import { ImageError } from '@turnpike/request-reading/images/imageError';
import { isPublicAddress } from '@turnpike/request-reading/images/isPublicAddress';
import { requestAddresses } from '@turnpike/request-reading/images/requestAddresses';
import type { ResolveHost } from '@turnpike/request-reading/images/resolveHost';

export interface WebhookNetwork {
  /** Hosts and ports, `host:port`, that need be neither public nor https. */
  privateHosts: ReadonlySet<string>;
  resolve: ResolveHost;
}

/** Longest wait for the answer to a webhook, with the look-up of its host. */
const TIMEOUT_MS = 10_000;

/**
 * Reads the address of a webhook. Throws an `ImageError` unless it is https on its own port, without credentials, and no private IP
 * address. Hosts in `privateHosts` are exempt. A name is looked up at each attempt, because its addresses change.
 */
export function parseWebhookUrl(text: string, privateHosts: ReadonlySet<string>): URL {
  const url = parseImageUrl(text);
  if (privateHosts.has(hostAndPortOf(url))) return url;
  const name = url.hostname.replace(/^\[|\]$/g, '');
  if (url.protocol !== 'https:' || url.port !== '') throw new ImageError('url_not_allowed');
  if (isIP(name) !== 0 && !isPublicAddress(name)) throw new ImageError('address_not_public');
  return url;
}

/**
 * Posts to a webhook and returns the status of the answer, whose body is not read. A redirect is not followed. Every address of the host
 * has to be public, and no other one is dialled. Throws an `ImageError` without an answer.
 */
export async function postWebhook(
  address: string,
  { headers, body }: { headers: Record<string, string>; body: string },
  { privateHosts, resolve }: WebhookNetwork,
): Promise<number> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const url = parseWebhookUrl(address, privateHosts);
  const addresses = await findDialledAddresses(url, { privateHosts, resolve, signal });
  const request = { method: 'POST' as const, headers, body };
  return requestAddresses(url, { addresses, signal, request }, async ({ statusCode }) => statusCode);
}
