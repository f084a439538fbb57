import { Resolver } from 'node:dns/promises';
import { ImageError } from './imageError.ts';

/** Finds all IP addresses of a host name. Rejects when there is none, or when `signal` is aborted. */
export type ResolveHost = (name: string, signal: AbortSignal) => Promise<string[]>;

const ANSWER_TIMEOUT_MS = 2_500;
const TRIES = 2;

/**
 * Asks the name servers, never a hosts file or a search domain: names that only this machine or cluster knows are not for
 * clients. Unlike the system's look-up it takes no thread of the pool that files are written by.
 */
export const resolveHost: ResolveHost = async (name, signal) => {
  signal.throwIfAborted();
  const resolver = new Resolver({ timeout: ANSWER_TIMEOUT_MS, tries: TRIES });
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel);
  try {
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    signal.throwIfAborted();
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length === 0) throw new ImageError('name_not_found');
    return addresses;
  } finally {
    signal.removeEventListener('abort', cancel);
  }
};
