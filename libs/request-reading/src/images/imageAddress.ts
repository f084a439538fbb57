import { isIP } from 'node:net';
import { z } from 'zod';
import { ImageError } from './imageError.ts';
import { isPublicAddress } from './isPublicAddress.ts';
import type { ResolveHost } from './resolveHost.ts';

const MAX_URL_LENGTH = 8_192;
const DEFAULT_PORTS: Record<string, string> = { 'http:': '80', 'https:': '443' };

/** Host and port of a URL, as `IMAGE_PRIVATE_HOSTS` names them. */
export const hostAndPortOf = ({ protocol, hostname, port }: URL): string =>
  `${hostname}:${port || DEFAULT_PORTS[protocol]}`;

/**
 * Reads an address as a browser would, which brings every spelling of a host into one form. Throws `url_not_allowed`
 * unless it is http or https without credentials.
 */
export function parseImageUrl(text: string, base?: URL): URL {
  const url = text.length <= MAX_URL_LENGTH ? URL.parse(text, base?.href) : null;
  if (!url || !Object.hasOwn(DEFAULT_PORTS, url.protocol) || url.username !== '' || url.password !== '')
    throw new ImageError('url_not_allowed');
  return url;
}

/**
 * The address that a redirect leads to. Throws `url_not_allowed` when that is no image address, or would leave https for
 * http.
 */
export function followRedirect(from: URL, location: string): URL {
  const to = parseImageUrl(location, from);
  if (from.protocol === 'https:' && to.protocol === 'http:') throw new ImageError('url_not_allowed');
  return to;
}

/**
 * Returns the IP addresses that may be dialled for a URL. Every resolved address has to be a public unicast one, and
 * the port has to be the scheme's own. Hosts and ports in `privateHosts` are exempt. Throws an `ImageError`.
 */
export async function findDialledAddresses(
  url: URL,
  { privateHosts, resolve, signal }: { privateHosts: ReadonlySet<string>; resolve: ResolveHost; signal: AbortSignal },
): Promise<string[]> {
  const isExempt = privateHosts.has(hostAndPortOf(url));
  if (url.port !== '' && !isExempt) throw new ImageError('url_not_allowed');
  const name = url.hostname.replace(/^\[|\]$/g, '');
  const addresses = isIP(name) === 0 ? await resolve(name, signal) : [name];
  if (!isExempt && !addresses.every(isPublicAddress)) throw new ImageError('address_not_public');
  return addresses;
}

/** `host:port,host:port` as the set that image addresses are compared with. */
export function parseHosts(text: string, context: z.RefinementCtx): ReadonlySet<string> {
  const hosts = text === '' ? [] : text.split(',');
  const urls = hosts.map((host) => (/^[^/?#@\s]+:\d+$/.test(host) ? URL.parse(`http://${host}`) : null));
  if (urls.some((url) => url === null)) {
    context.addIssue({ code: 'custom', message: 'must be host:port pairs, comma separated, an IPv6 host in brackets' });
    return z.NEVER;
  }
  return new Set(urls.flatMap((url) => (url ? [hostAndPortOf(url)] : [])));
}
