import { z } from 'zod';
import { hostAndPortOf } from './imageAddress.ts';

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
