import { Resolver } from 'node:dns/promises';
import { DNS_TIMEOUT_MS, MAX_ADDRESSES } from '../terms/limits.ts';
import { digestOf, type FoundAddress, toOrigin } from './engineEntries.ts';

/** Answers of name servers for a name without an address of one family. */
const EMPTY = new Set(['ENODATA', 'ENOTFOUND']);

/** The queries to name servers. */
export type NameServer = Pick<Resolver, 'resolve4' | 'resolve6'>;

/** Creates the resolver with the machine's name servers, each queried twice for 2 s at most. */
export const systemNameServer = (): NameServer => new Resolver({ timeout: DNS_TIMEOUT_MS, tries: 2 });

/**
 * Returns every address of a name, of both families. Names have to be fully qualified, because no search list is
 * applied. Rejects if no name server answers. Rejects also if there is no address, because a broken name server answers
 * the same. Engines that are really gone are noticed by their silence.
 */
export async function resolveDns(
  server: NameServer,
  { host, port }: { host: string; port: number },
): Promise<FoundAddress[]> {
  const families = await Promise.all([orNone(server.resolve4(host)), orNone(server.resolve6(host))]);
  const addresses = [...new Set(families.flat())].sort().slice(0, MAX_ADDRESSES);
  if (addresses.length === 0) throw new Error(`${host} has no address`);
  return addresses.map((address) => ({
    name: digestOf(address),
    origin: toOrigin(address, port),
    isDraining: false,
  }));
}

async function orNone(answer: Promise<string[]>): Promise<string[]> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Error && 'code' in error && EMPTY.has(String(error.code))) return [];
    throw error;
  }
}
